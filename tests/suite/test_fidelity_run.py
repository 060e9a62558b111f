"""Fidelity with a real session: what is recorded, and what a second run does."""

import gzip
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from models.rnnlm import RNNLM
from suite.bench.lock import FILE
from suite.bench.record import records_below
from suite.capture.to_graph import capture
from suite.cli import main
from suite.core.paths import GRIDS
from suite.core.problem import Problem
from suite.execution.measurement import Measurement, Step, Timing
from suite.execution.session import SessionBackend
from suite.fidelity.run import compare, outdated
from suite.fidelity.sample_placements import draw
from suite.fidelity.when_needed import WhenNeeded
from suite.formats.machine_toml import machine_from_table

TIMING = Timing(steps=3, discarded=1)


@pytest.fixture(scope="module")
def step(tmp_path_factory):
    """A toy language model as graph and GraphDef."""
    captured = capture(*RNNLM(batch=2, units=8, steps=3, vocabulary=20).build(), "toy")
    path = tmp_path_factory.mktemp("graph") / "toy.pb.gz"
    path.write_bytes(gzip.compress(captured.graph_def.SerializeToString()))
    return Step(path, captured.graph.op_names), captured.graph


@pytest.fixture(scope="module")
def problem(step):
    device = {"kind": "cpu", "memory": "8 GB", "peak_flops": 5e10, "memory_bandwidth": 1e10}
    devices = [device | {"name": f"cpu:{i}", "launch_overhead": 1e-5} for i in range(2)]
    link = {"bandwidth": 1e9, "latency": 1e-5, "channel": "pair"}
    machine = machine_from_table({"name": "here", "device": devices, "link": [link]})
    return Problem.create(step[1], machine)


@pytest.fixture(scope="module")
def backend(problem):
    with SessionBackend(problem.machine) as session:
        yield session


@pytest.fixture(scope="module")
def run(step, problem, backend, tmp_path_factory):
    """Results, and cells with records of six placements."""
    results, drawn = tmp_path_factory.mktemp("results"), draw(problem, 6, 0, {})
    found = list(compare("toy", problem, step[0], drawn, backend, TIMING, results))
    return results, drawn, found


def test_each_placement_leaves_a_record_of_both_worlds(run):
    results, drawn, found = run
    assert len(found) == len(drawn) == 6
    for cell, record in found:
        assert json.loads(cell.path(results).read_text()) == record
        assert (record["status"], record["reason"]) == ("ok", "")
        assert record["backend"] == "session"
        assert record["virtual"]
        assert len(record["step_times"]) == 2
        assert record["step_time"] == pytest.approx(np.median(record["step_times"]))
        assert record["simulated"]["step_time"] > 0
        assert record["planned"] == 6
        assert len(record["outputs"]) == TIMING.steps
        np.testing.assert_allclose(record["outputs"], found[0][1]["outputs"], rtol=1e-5)
    by_kind = {(cell.placer, cell.seed): record for cell, record in found}
    busy = by_kind["single", 0]["breakdown"]["measured"]["busy"]
    assert busy["cpu:0"] > 0
    assert busy["cpu:1"] == 0
    rows = by_kind["single", 1]["breakdown"]["operations"]
    assert {row[1] for row in rows} == {"cpu:1"}
    assert all(row[3] > 0 and row[4] > 0 for row in rows)


def test_what_is_recorded_is_not_run_again(run, step, problem, backend):
    results, drawn, found = run
    before = {cell.name: cell.path(results).read_bytes() for cell, _ in found}
    lost = found[0][0].path(results)
    lost.unlink()
    again = list(compare("toy", problem, step[0], drawn, backend, TIMING, results))
    after = {cell.name: cell.path(results).read_bytes() for cell, _ in again}
    assert {name for name in before if before[name] != after[name]} == {found[0][0].name}


def test_a_longer_time_limit_leaves_what_has_ended_as_it_is(run, step, problem, backend):
    results, drawn, _ = run
    before = {path: path.read_bytes() for path in records_below(results)}
    patient = replace(TIMING, timeout=2 * TIMING.timeout)
    assert len(list(compare("toy", problem, step[0], drawn, backend, patient, results))) == len(
        drawn
    )
    assert {path: path.read_bytes() for path in records_below(results)} == before


def test_for_what_is_recorded_no_backend_is_started(run, step, problem, tmp_path):
    recorded, drawn, found = run
    results = shutil.copytree(recorded, tmp_path / "copy")

    def start():
        raise AssertionError("nothing is to run")

    with WhenNeeded("session", start) as none:
        again = compare("toy", problem, step[0], drawn, none, TIMING, results)
        assert [cell for cell, _ in again] == [cell for cell, _ in found]
        found[0][0].path(results).unlink()
        with pytest.raises(AssertionError, match="nothing is to run"):
            list(compare("toy", problem, step[0], drawn, none, TIMING, results))


class Counting:
    """A real backend; notes when it is closed, and stays open for other tests."""

    def __init__(self, backend):
        self.measure, self.device_names, self.closed = backend.measure, backend.device_names, 0

    def close(self):
        self.closed += 1


def test_a_backend_is_started_once_and_closed_whatever_happens(step, problem, backend):
    started = []

    def start():
        started.append(Counting(backend))
        return started[-1]

    with WhenNeeded("session", start) as needed:
        assert (needed.name, started) == ("session", [])
    zeros = np.zeros(problem.graph.n_ops, int)

    def interrupted():
        with WhenNeeded("session", start) as needed:
            needed.start()
            for _ in range(2):
                assert needed.measure(step[0], zeros, TIMING).status == "ok"
            assert needed.device_names == backend.device_names
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [one.closed for one in started] == [1]


def test_a_second_round_runs_what_was_run_once(run, step, problem, backend, tmp_path):
    results, drawn, found = run
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    once = {cell.name: json.loads(cell.path(tmp_path).read_text()) for cell, _ in found}
    arguments = "toy", problem, step[0], drawn, backend, TIMING, tmp_path
    for _ in range(2):
        twice = {cell.name: (cell, record) for cell, record in compare(*arguments, number=2)}
    assert [*twice] != [*once]
    for name, (cell, record) in twice.items():
        first, second = record["rounds"]
        assert first == once[name]["step_times"]
        assert len(second) == 2
        assert record["step_times"] == first + second
        assert record["step_time"] == pytest.approx(np.median(first + second))
        assert json.loads(cell.path(tmp_path).read_text()) == record


class Tells:
    """A backend that measures what it is told to."""

    name = "session"

    def __init__(self, *found):
        self.found = list(found)

    def measure(self, step, devices, timing):
        return self.found.pop(0)


def test_a_round_that_fails_stands_for_those_before_it(step, problem, tmp_path):
    """And it is said of which devices the peak memory was told, and how the placement was drawn."""
    first = Measurement("ok", "", (9.0, 1.0, 2.0), 1, peak_memory=(None, 7), virtual=True)
    backend = Tells(first, Measurement("oom", "cpu:1 is full", (3.0,), 1))
    drawn = draw(problem, 1, 0, {})
    again = [replace(drawn[0], about={"seed": 5})]
    [(_, before)] = compare("toy", problem, step[0], drawn, backend, TIMING, tmp_path)
    assert (before["step_time"], before["peak_memory"]) == (1.5, {"cpu:1": 7})
    for _ in range(2):
        [(cell, after)] = compare("toy", problem, step[0], again, backend, TIMING, tmp_path, 2)
        assert (after["status"], after["reason"]) == ("oom", "cpu:1 is full")
        assert (after["step_time"], after["rounds"]) == (None, [[1.0, 2.0], []])
        assert after["parameters"] == {"seed": 5}
        assert json.loads(cell.path(tmp_path).read_text()) == after


def test_records_of_another_profile_go_even_where_it_draws_fewer(
    run, step, problem, backend, tmp_path
):
    """What is recorded under today's settings stays, drawn or not."""
    results, drawn, _ = run
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    slower = replace(problem.machine.devices[0], peak_flops=4e10)
    machine = replace(problem.machine, devices=(slower, problem.machine.devices[1]))
    list(compare("toy", problem, step[0], drawn[:4], backend, TIMING, tmp_path))
    assert len(records_below(tmp_path)) == 6
    other = Problem.create(step[1], machine)
    again = list(compare("toy", other, step[0], drawn[:4], backend, TIMING, tmp_path))
    assert records_below(tmp_path) == sorted(cell.path(tmp_path) for cell, _ in again)
    assert len(list(tmp_path.rglob("*.npz"))) == 4


def test_a_record_without_its_placement_is_outdated_though_it_is_not_drawn(run, problem, tmp_path):
    shutil.copytree(run[0], tmp_path, dirs_exist_ok=True)
    first, second, *_ = records_below(tmp_path)
    first.with_suffix(".npz").unlink()
    second.with_suffix(".npz").write_bytes(b"PK")
    assert outdated("toy", problem, (), "session", TIMING, tmp_path) == [first, second]


def test_the_records_of_one_task_outlast_the_next(run, step, problem, backend, tmp_path):
    results, drawn, found = run
    shutil.copytree(results, tmp_path, dirs_exist_ok=True)
    second = list(compare("second", problem, step[0], drawn[:1], backend, TIMING, tmp_path))
    cells = [cell for cell, _ in [*found, *second]]
    assert records_below(tmp_path) == sorted(cell.path(tmp_path) for cell in cells)


HERE = """name = "NAME"
device = [{name = "cpu", count = 2, kind = "cpu", memory = "8 GB", peak_flops = PEAK, \
memory_bandwidth = 1e10, launch_overhead = 1e-5}]
link = [{bandwidth = 1e9, latency = 1e-5}]
"""


@pytest.fixture
def fidelity(tmp_path, capsys):
    """Calls the command on a profile of this peak; returns its exit code and what it says."""

    def call(*words, peak="5e10", name="here", output="results"):
        file = tmp_path / peak / "here.toml"  # graphs are kept by their machine's path
        file.parent.mkdir(exist_ok=True)
        file.write_text(HERE.replace("PEAK", peak).replace("NAME", name))
        fixed = ["--machine", str(file), "--plain", "--output", str(tmp_path / output)]
        code = main(["fidelity", str(GRIDS / "rehearsal.npz"), *fixed, *words])
        return code, capsys.readouterr().err

    return call


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*.*") if path.name != FILE}


def test_what_was_measured_is_replaced_only_where_one_says_so(fidelity, tmp_path):
    few = "--placements", "2"
    assert fidelity(*few) == (0, "")
    measured = contents(tmp_path / "results")
    for words, peak in ((), "6e10"), (["--steps=7"], "5e10"), (["--backend=cluster"], "5e10"):
        code, said = fidelity(*few, *words, peak=peak)
        assert code == 2
        assert "2 records are of another profile, backend, --steps, --seed or code than" in said
        assert "give another --output, or --replace" in said
        assert contents(tmp_path / "results") == measured
    old = next(path for path in measured if path.suffix == ".json")
    record = json.loads(measured[old])
    old.write_text(json.dumps(record | {"code": record["code"] | {"digest": "of other code"}}))
    code, said = fidelity(*few)
    assert code == 2
    assert f"1 record, {old}, is of another profile, backend, --steps, --seed or code than" in said
    old.write_bytes(measured[old])
    # Replaced by what? The backend does not start, and the machine beside the records stays theirs.
    far = tmp_path / "far.toml"
    far.write_text("".join(f'[[server]]\naddress = "192.0.2.{i}:2222"\n' for i in (1, 2)))
    words = "--replace", "--backend=cluster", "--cluster", str(far)
    assert fidelity(*few, *words, peak="6e10")[0] == 2
    assert contents(tmp_path / "results") == measured
    assert fidelity("--placements", "3") == (0, "")  # what is missing is added
    assert measured.items() <= contents(tmp_path / "results").items()
    assert fidelity(*few, "--replace", peak="6e10") == (0, "")
    after = contents(tmp_path / "results")
    records = [path for path in after if path.suffix == ".json"]
    assert len(records) == 2
    assert all(measured[path] != after[path] for path in records)


def test_a_profile_that_lies_beside_another_tasks_records_is_kept(fidelity, tmp_path):
    assert fidelity("--placements", "1") == (0, "")
    records = tmp_path / "results" / "fidelity" / "here" / "0gpu"
    (records / "rehearsal").rename(records / "another")
    code, said = fidelity("--placements", "1", peak="6e10")
    assert code == 2
    assert f"1 record, {records / 'another' / 'single' / 'seed0.json'}, is of another" in said


@pytest.mark.parametrize("name", ["a/b", "", ".."])
def test_a_machine_whose_name_is_no_folders_is_refused(name, fidelity, tmp_path):
    code, said = fidelity(name=name)
    assert code == 2
    assert f"here.toml: the machine's name {name!r} cannot name a folder" in said
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nmt_22 --machine k40", "no task 'nmt_22'; did you mean 'nmt_2'?"),
        ("nmt_2 --machine nowhere.toml", "no file 'nowhere.toml'; check the path, or name one of "),
        ("nmt_2 --machine k40 --steps 5", "5 of 5 steps discarded; keep at least one"),
        ("nmt_2 --machine k40 --cluster c.toml", "--cluster is for --backend cluster"),
    ],
)
def test_trouble_is_told_before_anything_runs(arguments, words, tmp_path, capsys):
    assert main(["fidelity", *arguments.split(), "--output", str(tmp_path / "results")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "results").exists()
