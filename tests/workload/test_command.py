"""``placebench workload``: what it prints, records and refuses."""

import json
from dataclasses import replace

import pytest
from command_line import SMOKE_GRAPH, placebench
from small_workloads import document, edge, node

from suite.bench.lock import locked
from suite.bench.verify import verify
from suite.cli import main
from suite.core.problem import Problem
from suite.formats.interchange import read_graph, read_placement, write_graph
from suite.formats.machine_toml import load_machine
from suite.report.load_records import load_records
from suite.report.tables.tarnawski_placements import table as placements_table
from suite.report.tables.tarnawski_throughput import table
from suite.simulator.reference import simulate
from suite.tarnawski.judged import variant
from suite.tarnawski.reader import read_workload
from suite.tarnawski.workload import Question

CHAIN = document([node(i, size=1) for i in range(4)], [edge(i, i + 1) for i in range(3)])


@pytest.fixture
def chain(tmp_path):
    """A chain of four nodes of 1 ms whose outputs take 0.5 ms."""
    path = tmp_path / "workloads" / "layer_chain.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CHAIN))
    return path


def refused(arguments, capsys):
    """The one line that a refusal prints, before anything is solved."""
    capsys.readouterr()
    assert main(arguments) == 2
    output = capsys.readouterr()
    (line,) = output.err.splitlines()
    assert output.out == ""
    return line


def test_an_answer_says_all_that_was_asked(chain, capsys):
    assert main(["workload", str(chain), "--algorithm", "dp", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    # Two nodes on each accelerator, one output sent and received.
    assert (answer["objective"], answer["status"], answer["bound"]) == (2.5, "optimal", 2.5)
    assert answer["seconds"] >= 0
    assert [part["nodes"] for part in answer["split"]["fpgas"]] == [[0, 1], [2, 3]]
    assert answer["split"]["cpus"] == [{"load": 0.0, "nodes": []}]


def test_a_folder_of_workloads_becomes_a_table(chain, tmp_path, capsys):
    experts = tmp_path / "experts"
    experts.mkdir()
    split = {"fpgas": [{"nodes": [0]}, {"nodes": [1, 2, 3]}], "cpus": []}
    (experts / "chain_expert.json").write_text(json.dumps(split))
    results = tmp_path / "results"
    options = ["--algorithm", "all", "--experts", str(experts), "--output", str(results)]
    assert main(["workload", str(chain.parent), *options]) == 0
    assert "layer_chain throughput expert: 3.5 ms" in capsys.readouterr().out
    records = load_records(results)
    page = table(records, records.iloc[:0])
    (section,) = page.sections
    row = dict(zip(section.header, section.rows[0], strict=True))
    assert row["dp"] == "2.50 (optimal)"
    assert (row["cpu"], row["expert"], row["GPUs"], row["blocks"]) == ("40.00", "3.50", "2", "4")
    assert page.found == page.expected == len(records)
    assert list(verify(results)) == []


def test_an_answer_that_fits_is_better_than_a_shorter_one_that_does_not(chain, tmp_path):
    results = tmp_path / "results"
    asked = ["workload", str(chain), "--algorithm", "local_search", "--output", str(results)]
    for seed in range(3):
        assert main([*asked, "--seed", str(seed)]) == 0
    for seed, status, seconds in ((0, "oom", 0.001), (1, "ok", 0.004), (2, "ok", 0.003)):
        [path] = results.rglob(f"seed{seed}.json")
        made = json.loads(path.read_text()) | {"status": status, "step_time": seconds}
        path.write_text(json.dumps(made))

    def shown():
        records = load_records(results)
        (section,) = table(records, records.iloc[:0]).sections
        return dict(zip(section.header, section.rows[0], strict=True))["local_search"]

    assert shown() == "3.00"
    for seed in (1, 2):
        next(results.rglob(f"seed{seed}.json")).unlink()
    assert shown() == "1.00 (OOM)"


def test_a_bound_of_contiguous_splits_is_none_of_all(chain, tmp_path):
    """What is left of the gap is a share of the answer: of 2.5 ms, 0.1 and 0.5."""
    results = tmp_path / "results"
    for algorithm, bound in (("dp", 0.0024), ("ip", 0.002)):
        asked = ["workload", str(chain), "--algorithm", algorithm, "--output", str(results)]
        assert main(asked) == 0
        [path] = results.rglob(f"{algorithm}/seed0.json")
        late = {"step_time": 0.0025, "lower_bound": bound, "bound_kind": "time limit"}
        path.write_text(json.dumps(json.loads(path.read_text()) | late))
    records = load_records(results)
    (section,) = table(records, records.iloc[:0]).sections
    row = dict(zip(section.header, section.rows[0], strict=True))
    cells = {"ip": "2.50 (20.0 %)", "dp": "2.50 (4.0 %)", "bound": "2.00"}
    assert {name: row[name] for name in cells} == cells


def test_a_record_has_seconds_and_counts_calls(chain, tmp_path):
    results = tmp_path / "results"
    asked = ["workload", str(chain), "--algorithm", "dp", "--output", str(results)]
    assert main(asked) == 0
    found = load_records(results).iloc[0]
    # 2.5 ms, which is optimal.
    assert (found["step_time"], found["lower_bound"]) == (0.0025, 0.0025)
    assert found["planner"]["stages"] == 1


def test_a_workload_that_is_declined_does_not_keep_others_from_theirs(chain, tmp_path, capsys):
    small = json.loads(chain.read_text()) | {"maxSizePerFPGA": 0.0, "maxCPUs": 0}
    for entry in small["nodes"]:
        entry["size"] = 1.0
    for name in ("a_small", "z_last"):
        text = json.dumps(small) if name == "a_small" else chain.read_text()
        (chain.parent / f"{name}.json").write_text(text)
    results = tmp_path / "results"
    command = ["workload", str(chain.parent), "--algorithm", "dp", "--output", str(results)]
    assert main(command) == 2
    assert "a_small dp: skipped: " in capsys.readouterr().err
    found = load_records(results).set_index("task")["status"].to_dict()
    assert found == {"a_small": "skipped", "layer_chain": "ok", "z_last": "ok"}


def test_what_is_recorded_is_not_run_again(chain, tmp_path, capsys):
    results = tmp_path / "results"
    options = ["--algorithm", "dpl", "--output", str(results)]
    assert main(["workload", str(chain), *options]) == 0
    (record,) = results.rglob("seed0.json")
    before = record.read_bytes()
    capsys.readouterr()
    assert main(["workload", str(chain), *options]) == 0
    assert capsys.readouterr().out == "layer_chain throughput dpl: recorded: ok\n"
    assert record.read_bytes() == before
    # Another workload of the same name is another question.
    chain.write_text(json.dumps(CHAIN | {"maxFPGAs": 2, "maxSizePerFPGA": 3}))
    assert main(["workload", str(chain), *options]) == 0
    assert "dpl: 2.5 ms" in capsys.readouterr().out


def test_two_runs_do_not_write_into_one_folder(chain, tmp_path, capsys):
    """Both would solve the same cells."""
    ask = ["workload", str(chain), "--objective", "throughput", "--algorithm", "dpl", "--output"]
    with locked(tmp_path / "r"):
        assert main([*ask, str(tmp_path / "r")]) == 2
        assert f"is writing into {tmp_path / 'r'}; wait until it ends" in capsys.readouterr().err
    assert main([*ask, str(tmp_path / "r")]) == 0


def test_without_records_there_is_nothing_to_write(tmp_path):
    records = load_records(tmp_path)
    assert (table(records, records).found, table(records, records).sections) == (0, ())


@pytest.fixture
def coarse(tmp_path):
    """The smoke graph's blocks."""
    path = tmp_path / "tiny_training.json"
    graph = ["graph", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2"]
    assert main([*graph, "--workload", str(path)]) == 0
    return path


def test_a_coarsened_graph_says_what_it_is_of(tmp_path, capsys):
    """And how many CPUs may be used: none, which this graph cannot do, or all of the machine's."""
    graph, path = tmp_path / "smoke.npz", tmp_path / "w.json"
    write_graph(read_graph(SMOKE_GRAPH), graph)
    asked = ["graph", str(graph), "--machine", "k40", "--gpus", "2", "--workload", str(path)]
    for more in ([], ["--inference"]):
        assert main([*asked, "--cpus", "1", *more]) == 0
        memory = load_machine("k40").memory[1] / 1e9
        assert f"; 2 accelerators of {memory:.2f} GB" in capsys.readouterr().out
        found = json.loads(path.read_text())
        assert (found["maxCPUs"], found["maxFPGAs"]) == (1, 2)
        origin = found["placebench"]
        assert (origin["task"], origin["file"]) == (read_graph(SMOKE_GRAPH).name, str(graph))
        assert (origin["machine"], origin["gpus"]) == ("k40", 2)
        assert origin["inference"] == bool(more)
    line = refused([*asked, "--cpus", "0"], capsys)
    assert line.endswith("lookup has no GPU kernel: leave CPUs to the workload")


def test_a_coarsened_graph_is_split_placed_and_judged(coarse, tmp_path, capsys):
    placement, results = tmp_path / "p.json", tmp_path / "results"
    options = ["--objective", "latency", "--algorithm", "greedy", "--output", str(results)]
    asked = ["workload", str(coarse), *options]
    assert main([*asked, "--placement", str(placement)]) == 0
    assert "as a placement, a step of" in capsys.readouterr().out
    graph, k40 = read_graph(SMOKE_GRAPH), load_machine("k40").with_gpus(2)
    problem = Problem.create(graph, k40)
    devices = read_placement(placement, problem).devices
    records = load_records(results)
    judged = records[records["grid"] == "tarnawski_placements"].iloc[0]
    assert judged["step_time"] == simulate(problem, devices).step_time
    # Greedy fills one GPU: nothing overlaps and nothing moves, and the cost model is exact.
    assert judged["planner"]["promised"] == pytest.approx(judged["step_time"], rel=1e-4)
    assert [why for _, why in verify(results)] == [""]
    page = placements_table(records, records.iloc[:0])
    assert page.sections[1].rows[0][:2] == ("tiny", "2")
    assert f"{judged['step_time']:.3f}" in page.sections[1].rows[0][2]


def test_a_placer_is_named_after_the_pass_and_where_no_cpu_may_be_used(coarse):
    training = read_workload(coarse)
    inference = replace(training, origin=replace(training.origin, inference=True))
    asked = (training, replace(training, cpus=0), inference, replace(inference, cpus=0))
    names = [variant(Question(workload, "latency")) for workload in asked]
    assert names == ["training", "training_gpus", "inference", "inference_gpus"]


def test_a_workload_of_another_graph_is_not_placed(coarse, tmp_path, capsys):
    data = json.loads(coarse.read_text())
    data["placebench"]["fingerprint"] = "0" * 16
    coarse.write_text(json.dumps(data))
    placement = tmp_path / "p.json"
    asked = ["workload", str(coarse), "--algorithm", "dpl", "--placement", str(placement)]
    assert refused(asked, capsys).endswith("write it again with placebench graph")
    data["placebench"] |= {"task": "", "file": "mine.keras"}
    coarse.write_text(json.dumps(data))
    assert "comes from mine.keras, which cannot be read again" in refused(asked, capsys)
    assert not placement.exists()


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [("all", "one workload and one algorithm"), ("dpl", "is no task of placebench")],
)
def test_an_answer_that_cannot_be_placed_is_one_line(chain, algorithm, message, tmp_path, capsys):
    placement = tmp_path / "p.json"
    asked = ["workload", str(chain), "--algorithm", algorithm, "--placement", str(placement)]
    assert message in refused(asked, capsys)


def test_a_placement_is_not_written_over_its_workload(coarse, tmp_path, capsys):
    before = coarse.read_bytes()
    asked = ["workload", str(coarse), "--algorithm", "dpl", "--placement"]
    assert "are both" in refused([*asked, str(coarse)], capsys)
    assert coarse.read_bytes() == before
    with pytest.raises(SystemExit) as ended:
        main([*asked, str(tmp_path)])
    assert ended.value.code == 2
    assert "is a folder; give a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inference"], "--inference goes with --workload FILE"),
        (["--workload", "w.json", "--json"], "--json the graph; give one of them"),
        (["--workload", "w.json", "--output", "g.json"], "--output the graph; give one of them"),
        (
            ["--machine", "k40", "--workload", "w.json", "--cpus", "2"],
            "machine k40 has 1 CPU; give --cpus 1",
        ),
    ],
)
def test_what_a_graph_cannot_be_written_as_is_one_line(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert message in refused(["graph", "--graph", str(SMOKE_GRAPH), *arguments], capsys)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "dpp"], "did you mean 'dp"),
        (["--algorithm", "dp", "--ideals", "2"], "more than 2 ideals"),
        (["--algorithm", "expert"], "no expert split"),
        (["--gap", "-1"], "no number >= 0"),
    ],
)
def test_what_cannot_be_done_is_one_line(chain, arguments, message):
    done = placebench("workload", chain, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
