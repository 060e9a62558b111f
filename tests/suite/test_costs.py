"""Operation times by hand, and those that were measured."""

import json
from dataclasses import replace

import numpy as np
import pytest

from suite.cli import main
from suite.core.costs import op_seconds
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.paths import MACHINES
from suite.formats.interchange import write_graph
from suite.formats.machine_spread import load_spread
from suite.formats.machine_toml import load_machine, machine_from_table
from suite.formats.measured_costs import (
    as_measured,
    keep_machine,
    kept_machine,
    machine_of_records,
    times_name,
    with_op_times,
    write_op_times,
)

TABLE = {
    "name": "m",
    "device": [
        {
            "name": "cpu:0",
            "kind": "cpu",
            "memory": "8 GB",
            "peak_flops": 1e9,
            "memory_bandwidth": 1e9,
            "launch_overhead": 0.5,
        },
        {
            "name": "gpu:0",
            "kind": "gpu",
            "memory": "8 GB",
            "peak_flops": 1e12,
            "memory_bandwidth": 1e11,
            "launch_overhead": 0.25,
            "host_overhead": 0.125,
        },
    ],
    "link": [{"bandwidth": 1e9, "latency": 0}],
    "efficiency": {
        "gpu": {
            "matmul": 0.5,
            "movement": 0.125,
            "elementwise": {"compute": 1.0, "memory": 0.25},
        }
    },
}


def seconds(op_type, **arguments):
    graph = OpGraph.create("g", ["a"], [op_type], [], [], **arguments)
    return op_seconds(graph, machine_from_table(TABLE))[0].tolist()


@pytest.mark.parametrize(
    ("op_type", "arguments", "expected"),
    [
        ("MatMul", {"flops": 2e12, "bytes_touched": 1e9}, [2000.5, 4.25]),
        ("MatMul", {"flops": 1e9, "bytes_touched": 1e12}, [1000.5, 20.25]),
        ("Relu", {"flops": 1e9, "bytes_touched": 1e11}, [100.5, 4.25]),
        ("Conv2D", {"flops": 1e12}, [1000.5, 1.25]),
        ("Einsum", {"flops": 1e12}, [1000.5, 2.25]),
        ("Transpose", {"bytes_touched": 1e11}, [100.5, 8.25]),
        ("Identity", {}, [0.5, 0.125]),
        ("Where", {"gpu_kernel": False}, [0.5, np.inf]),
        ("MatMul", {"flops": 1e12, "seconds": {"gpu": [3.0]}}, [1000.5, 3.0]),
        ("MatMul", {"flops": 1e12, "seconds": {"gpu": [np.nan]}}, [1000.5, 2.25]),
    ],
)
def test_the_larger_of_compute_and_memory_plus_overhead(op_type, arguments, expected):
    assert seconds(op_type, **arguments) == pytest.approx(expected)


def test_every_operation_of_a_large_graph_has_its_own_seconds():
    """Rows are written some thousand at a time: none is left out where one part ends."""
    count = 10_000
    names, flops = [f"op{i}" for i in range(count)], 1e9 * np.arange(1, count + 1)
    graph = OpGraph.create("g", names, ["Conv2D"] * count, [], [], flops=flops)
    found = op_seconds(graph, machine_from_table(TABLE))
    np.testing.assert_allclose(found[:, 0], np.arange(1, count + 1) + 0.5)
    np.testing.assert_allclose(found[:, 1], 1e-3 * np.arange(1, count + 1) + 0.25)


PROFILE = """
op_times = "mine-ops"
[[device]]
name = "cpu:0"
kind = "cpu"
memory = "8 GB"
peak_flops = 1e9
memory_bandwidth = 1e9
launch_overhead = 0.5
parallelism = 4
spread = 0.0
"""
TWO = OpGraph.create("two", ["a", "b"], ["A", "B"], [0], [(0, 1)])
MEASURED = {"cpu": np.array([2.0, np.nan])}


@pytest.fixture
def profile(tmp_path):
    """A machine's file, with times of the graph TWO as the task ``known``."""
    path = tmp_path / "host" / "mine.toml"
    write_op_times(TWO, MEASURED, path.parent / "mine-ops", "known")
    path.write_text(PROFILE)
    return path


def test_measured_times_are_those_of_their_own_graph(profile):
    machine = load_machine(profile)
    assert machine.name == "mine"
    np.testing.assert_array_equal(
        with_op_times(TWO, machine, "known").seconds["cpu"], MEASURED["cpu"]
    )
    assert with_op_times(TWO, machine, "other") is TWO
    assert with_op_times(TWO, replace(machine, op_times=None), "known") is TWO
    renamed = OpGraph.create("two", ["a", "c"], ["A", "C"], [0], [(0, 1)])
    with pytest.raises(InputError, match="is of another capture of known; profile it again"):
        with_op_times(renamed, machine, "known")
    # What is no task may be another graph tomorrow, of the same name.
    assert times_name(TWO, "known") == "known"
    assert times_name(TWO, None) != times_name(renamed, None)
    (profile.parent / "mine-ops" / "known.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"known\.npz is damaged .*; profile known again"):
        with_op_times(TWO, machine, "known")


@pytest.mark.parametrize(
    ("seconds", "spread", "words"),
    [
        (["a", "b"], [0.1, 0.1], r"seconds/cpu is <U1\[2\]"),
        ([1, 2], [0.1, 0.1], r"seconds/cpu is int64\[2\]"),
        ([1.0, -2.0], [0.1, 0.1], r"seconds/cpu has -2\.0"),
        ([1.0, np.inf], [0.1, 0.1], "seconds/cpu has inf"),
        ([1.0, 2.0], [0.1, np.inf], "spread/cpu has inf"),
        ([1.0, 2.0], [0.1, 1.5], r"spread/cpu has 1\.5"),
        ([1.0, 2.0], [-0.5, 0.1], r"spread/cpu has -0\.5"),
        ([1.0, 2.0], [0.1], r"seconds/cpu is float64\[2\]"),
        ([1.0, 2.0, 3.0], [0.1, 0.1, 0.1], "3 times on cpu, not 2"),
    ],
)
def test_measured_times_that_are_none_are_refused_with_their_file(profile, seconds, spread, words):
    seconds, spread = {"cpu": np.array(seconds)}, {"cpu": np.array(spread)}
    write_op_times(TWO, seconds, profile.parent / "mine-ops", "known", spread)
    said = rf"mine-ops/known\.npz is damaged \(.*{words}\); profile known again"
    with pytest.raises(InputError, match=said):
        with_op_times(TWO, load_machine(profile), "known")


def test_a_grid_takes_the_times_of_a_graph_that_is_a_file(profile, tmp_path, monkeypatch, capsys):
    """As place does; and its record is simulated with them wherever it is looked at again."""
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    profile = profile.parent.rename(tmp_path / "machines") / profile.name
    write_graph(TWO, tmp_path / "two.npz")
    write_op_times(TWO, MEASURED, profile.parent / "mine-ops", times_name(TWO, None))
    grid = tmp_path / "g.toml"
    grid.write_text(
        f'machine = "mine"\n[[task]]\nname = "two"\ngpus = 0\n'
        f'graph = "{tmp_path / "two.npz"}"\n[[placer]]\nname = "cpu_only"\n'
    )
    results = tmp_path / "results"
    assert main(["bench", str(grid), "--output", str(results), "--workers", "0"]) == 0
    [record] = [json.loads(path.read_text()) for path in results.rglob("seed0.json")]
    place = [str(tmp_path / "two.npz"), "--machine", "mine", "--placer", "cpu_only", "--json"]
    capsys.readouterr()
    assert main(["place", *place]) == 0
    assert record["step_time"] == json.loads(capsys.readouterr().out)["step_time"] == 2.5
    assert main(["verify", str(results)]) == 0


def test_a_grid_takes_the_spread_of_those_times_as_well(profile, tmp_path, monkeypatch, capsys):
    """As place does; what is measured anew is run anew, and the record can be replayed."""
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    profile = profile.parent.rename(tmp_path / "machines") / profile.name
    write_graph(TWO, tmp_path / "two.npz")

    def measured(spread):
        kept = profile.parent / "mine-ops", times_name(TWO, None)
        write_op_times(TWO, MEASURED, *kept, {"cpu": np.array([spread, np.nan])})

    measured(0.5)
    grid = tmp_path / "g.toml"
    grid.write_text(
        f'machine = "mine"\n[[task]]\nname = "two"\ngpus = 0\n'
        f'graph = "{tmp_path / "two.npz"}"\n[[placer]]\nname = "best_of_random"\n'
        'parameters = { k = 4 }\njudge = { score = "worst", machines = 2 }\n'
    )
    results = tmp_path / "results"
    bench = ["bench", str(grid), "--output", str(results), "--workers", "0"]
    assert main(bench) == 0
    [path] = results.rglob("seed0.json")
    record = json.loads(path.read_text())
    place = [str(tmp_path / "two.npz"), "--machine", "mine", "--placer", "best_of_random", "--json"]
    place += ["--judge", "worst", "--machines", "2", "--set", "k=4"]
    capsys.readouterr()
    assert main(["place", *place]) == 0
    assert record["history"][-1][2] == json.loads(capsys.readouterr().out)["judge"]["seconds"]
    path.write_text(json.dumps(record | {"code": record["code"] | {"digest": "of other code"}}))
    assert main(["verify", str(results), "--replay", "4"]) == 0
    assert json.loads(path.read_text())["code"]["digest"] == record["code"]["digest"]
    measured(0.25)
    capsys.readouterr()
    assert main(bench) == 0
    assert "1 to run (1 recorded under other settings)" in capsys.readouterr().out


def test_that_the_times_of_a_machine_are_gone_is_told_once(profile, tmp_path, recwarn):
    """As where its file alone was copied to another host; not where no model was timed."""
    alone = tmp_path / "alone" / "mine.toml"
    for folder in ("alone", "untimed/mine-ops"):
        (tmp_path / folder).mkdir(parents=True)
    for copy in (alone, tmp_path / "untimed" / "mine.toml"):
        copy.write_text(PROFILE)
        for task in ("known", "other", "known"):
            assert with_op_times(TWO, load_machine(copy), task) is TWO
    keep_machine(copy, tmp_path / "results")
    assert with_op_times(TWO, load_machine(kept_machine(tmp_path / "results")), "known") is TWO
    with_op_times(TWO, load_machine(profile), "other")
    [told] = [str(one.message) for one in recwarn]
    assert told.startswith(
        f"{alone.parent / 'mine-ops'}, the machine's measured times, is not there"
    )


def test_only_what_was_timed_so_runs_several_operations_at_once(profile):
    machine = load_machine(profile)
    timed = with_op_times(TWO, machine, "known")
    assert as_measured(machine, timed).parallelism.tolist() == [4]
    assert as_measured(machine, TWO).parallelism.tolist() == [1]
    # A machine that was not profiled says what it is able to.
    assert as_measured(replace(machine, op_times=None), TWO).parallelism.tolist() == [4]


def test_the_spread_of_measured_times_is_that_which_was_recorded(profile):
    with pytest.raises(InputError, match=r"known\.npz records no spread; profile known again"):
        load_spread(profile, "known")
    assert load_spread(profile, None).operations == load_spread(profile, "other").operations == {}
    spread = {"cpu": np.array([0.25, np.nan])}
    write_op_times(TWO, MEASURED, profile.parent / "mine-ops", "known", spread)
    found = load_spread(profile, "known").operations
    np.testing.assert_array_equal(found["cpu"], spread["cpu"])


def test_a_machine_is_kept_beside_its_records_with_its_times(profile, tmp_path):
    folder = tmp_path / "results"
    assert machine_of_records(folder, "mine") == "mine"
    keep_machine("k40", folder)
    keep_machine(MACHINES / "k40.toml", folder)
    assert not folder.exists()
    keep_machine(profile, folder)
    assert machine_of_records(folder, "mine") == str(kept_machine(folder))
    longer = {"cpu": np.array([3.0, 4.0])}
    write_op_times(TWO, longer, profile.parent / "mine-ops", "known")
    profile.write_text(PROFILE.replace("parallelism = 4", "parallelism = 2"))
    keep_machine(profile, folder)
    kept = load_machine(kept_machine(folder))
    assert kept.parallelism.tolist() == [2]
    timed = with_op_times(TWO, kept, "known")
    np.testing.assert_array_equal(timed.seconds["cpu"], longer["cpu"])
