"""The command line: right answers, and one line with exit code 2 for whatever is wrong."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from command_line import COMMAND, ENVIRONMENT, SMOKE_GRAPH, placebench, write_grid
from two_ops import GRAPH, MACHINE, PLACEMENT
from unrolled import unrolled

from suite.capture.load_model import Loaded
from suite.cli import main, parser
from suite.commands._checks import check_written
from suite.commands.graph import _facts
from suite.core.errors import InputError
from suite.core.paths import MACHINES, ROOT
from suite.formats.interchange import read_graph, write_graph
from suite.formats.machine_toml import load_machine


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with g.json, m.toml and p.json, to run in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.json").write_text(json.dumps(GRAPH))
    (tmp_path / "m.toml").write_text(MACHINE)
    (tmp_path / "p.json").write_text(json.dumps(PLACEMENT))
    return tmp_path


SIMULATE = ["simulate", "--graph", "g.json", "--machine", "m.toml", "--placement", "p.json"]


def examples(page, kind):
    """The blocks of a kind on a page of the documentation."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [part.split("```", 1)[0] for part in text.split(f"```{kind}\n")[1:]]


def test_the_examples_of_the_documentation_fit_together(folder, capsys):
    graph, placement = examples("formats.md", "json")[:2]
    (folder / "g.json").write_text(graph)
    (folder / "p.json").write_text(placement)
    (folder / "m.toml").write_text(examples("machines.md", "toml")[0])
    assert main(SIMULATE) == 0
    assert "two-gpus: 1 CPU, 8 GPU" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_the_example_in_python_runs(capsys):
    write_graph(unrolled(steps=3, layers=2), "nmt_2.npz")
    exec(examples("simulator.md", "python")[0], {})
    step_time = float(capsys.readouterr().out.split()[0])
    simulate = ["simulate", "nmt_2.npz", "--machine", "k40", "--gpus", "2"]
    assert main([*simulate, "--placement", "best.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step_time"] == step_time


@pytest.mark.usefixtures("folder")
def test_a_file_where_a_results_folder_is_to_be_is_said(capsys):
    write_grid(Path("grid.toml"), {"metis": 1})
    assert main(["bench", "grid.toml", "--output", "g.json"]) == 2
    assert "a folder is to be there; give another path" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_simulate_prints_what_a_hand_computes(capsys):
    assert main([*SIMULATE, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        # a on the GPU 0.1 s; 1,000,000 bytes at 1e9 B/s after 20 us; b on the CPU 0.5 s
        "step_time": 0.1 + 2e-5 + 1e-3 + 0.5,
        "peak_memory": {"cpu:0": 1_000_000 + 4_000_000, "gpu:0": 4096 + 1_000_000},
        "oom": ["cpu:0"],
        "busy": {"cpu:0": 0.5, "gpu:0": 0.1},
        "moved": {"cpu:0->gpu:0": 0, "gpu:0->cpu:0": 1_000_000},
        "semantics": "placebench",
    }


@pytest.mark.usefixtures("folder")
def test_simulate_says_why_a_step_takes_as_long(capsys):
    assert main([*SIMULATE, "--why", "--json"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    why = verdict["why"]
    assert why["seconds"] == {
        "computing": {"cpu:0": 0.5, "gpu:0": 0.1},
        "behind_operations": {},
        "transfers": {"gpu:0 to cpu:0": 2e-5 + 1e-3},
        "behind_transfers": {},
        "pauses": {},
    }
    assert why["what_if"]["cpu:0 twice as fast"] == 0.1 + 2e-5 + 1e-3 + 0.25
    assert len(why["times_off"]["step_times"]) == 8

    assert main([*SIMULATE, "--why"]) == 0
    text = capsys.readouterr().out
    assert "it waited for 2 operations and 1 transfer, each for its last input:" in text
    assert (
        "  computing                          0.600000 s  99.8%  cpu:0 83.2%, gpu:0 16.6%" in text
    )
    assert "  0.351020 s  -41.6%  cpu:0 twice as fast" in text


@pytest.mark.usefixtures("folder")
def test_why_under_hetero_speaks_of_turns(capsys):
    assert main([*SIMULATE, "--why", "--semantics", "hetero"]) == 0
    assert "sends or receives" not in capsys.readouterr().out


def test_a_trace_opens_and_says_the_same(folder, capsys):
    assert main([*SIMULATE, "--trace", "t.json"]) == 0
    assert "OUT OF MEMORY" in capsys.readouterr().out
    trace = json.loads((folder / "t.json").read_text())
    spans = {e["name"]: (e["ts"], e["dur"]) for e in trace["traceEvents"] if e["ph"] == "X"}
    assert spans["b"] == pytest.approx((101_020, 500_000))


def test_where_nothing_can_be_written_is_said_before_anything_is_computed(folder, capsys):
    os.mkfifo(folder / "pipe")
    place = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--placer", "cpu_only"]
    for asked, told in (
        (["--output", "."], "argument --output: . is a folder; give a file"),
        (["--trace", "pipe"], "argument --trace: pipe is a device or a pipe; give a file"),
        (["--output", "a", "--trace", "./a"], "--output and --trace are both a; give two files"),
        (["--output", str(SMOKE_GRAPH)], f"--output and --graph are both {SMOKE_GRAPH}; give two"),
    ):
        try:
            code = main([*place, *asked])
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        assert (code, printed.out) == (2, "")
        assert told in printed.err
    assert {path.name for path in folder.iterdir()} >= {"pipe"}
    assert not (folder / "a").exists()


@pytest.mark.parametrize(
    ("placer", "given", "told"),
    [
        (
            "annealing",
            "temperature=nan",
            "placer annealing: temperature is nan; give a finite number",
        ),
        ("annealing", "temperature=cold", "placer annealing: temperature is 'cold'; give a number"),
        ("annealing", "batch=2.5", "placer annealing: batch is 2.5; give a whole number"),
        ("annealing", "batch=true", "placer annealing: batch is True; give a whole number"),
        ("etf", "queued=no", "placer etf: queued is 'no'; give true or false"),
        ("restarts", "placer=3", "placer restarts: placer is 3; give text"),
        ("annealing", "starts='metis'", "placer annealing: starts is 'metis'; give a list"),
        ("annealing", "starts=['metis', 3]", "placer annealing: starts[1] is 3; give text"),
        ("best_estimate", "imbalances=[0.1, nan]", "imbalances[1] is nan; give a finite number"),
        (
            "annealing",
            "bath=3",
            "placer annealing has no parameter 'bath'; did you mean 'batch'? it has evaluations, ",
        ),
    ],
)
def test_parameters_are_of_their_types(folder, capsys, placer, given, told):
    graph = ["--graph", str(SMOKE_GRAPH), "--machine", "k40"]
    assert main(["place", *graph, "--placer", placer, "--set", given]) == 2
    assert told in capsys.readouterr().err
    parameters = "{ " + given.replace("cold", "'cold'").replace("=no", "='no'") + " }"
    grid = write_grid(folder / "grid.toml", {placer: 1}, parameters=parameters)
    assert main(["bench", str(grid)]) == 2
    assert told in capsys.readouterr().err


def test_what_place_writes_simulate_reads(folder, capsys):
    graph = ["--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2"]
    place = ["place", *graph, "--placer", "best_of_random", "--set", "k=30", "--seed", "3"]
    assert main([*place, "--output", "best.json"]) == 0
    placed = step_time(capsys)
    assert main(["simulate", *graph, "--placement", "best.json"]) == 0
    assert step_time(capsys) == placed
    assert main(["simulate", str(SMOKE_GRAPH), *graph[2:], *place[-6:]]) == 0
    assert step_time(capsys) == placed


def test_a_model_of_ones_own_is_placed_on_the_profiled_host_or_a_named_machine(
    folder, capsys, monkeypatch
):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(folder / "cache"))
    place = ["place", "g.json", "--placer", "cpu_only"]
    assert main(place) == 2
    said = capsys.readouterr().err
    assert "g.json is no task of a paper: say for which machine" in said
    assert all(f" {path.stem}" in said for path in MACHINES.glob("*.toml"))
    profiles = folder / "cache/machines"
    profiles.mkdir(parents=True)
    (profiles / "mine.toml").write_text(MACHINE)
    assert main(place) == 0
    assert machine_shown(capsys.readouterr().out) == load_machine("mine").name
    assert main([*place, "--judge", "worst"]) == 2
    assert "mine.toml: device cpu:0 records no spread" in capsys.readouterr().err
    (profiles / "other.toml").write_text(MACHINE)
    assert main(place) == 2


def machine_shown(shown):
    (line,) = [line for line in shown.splitlines() if line.startswith("machine")]
    return line.split()[1].removesuffix(":")


def test_list_tells_where_a_machines_numbers_come_from(capsys):
    assert main(["list", "machines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("machine")] == []
    [k40] = [line for line in lines if line.split()[1] == "k40"]
    assert "1 CPU, 8 GPU; devices: data sheet; overheads: fitted" in k40


def step_time(capsys):
    (line,) = [k for k in capsys.readouterr().out.splitlines() if k.startswith("step time")]
    return line


def test_graph_tells_and_writes(folder, capsys):
    assert main(["graph", "g.json"]) == 0
    facts = capsys.readouterr().out
    assert "operations                         2" in facts
    assert "colocation classes                 2" in facts
    assert main(["graph", "g.json", "--json"]) == 0
    (folder / "again.json").write_text(capsys.readouterr().out)
    assert main(["graph", "g.json", "--output", "again.npz"]) == 0
    assert "wrote again.npz" in capsys.readouterr().out
    for again in ("again.json", "again.npz"):
        assert main([*SIMULATE, "--graph", again, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["step_time"] == pytest.approx(0.60102)


def test_every_fact_of_a_graph_is_counted(folder, capsys):
    ops = [
        {"name": "a", "type": "A", "flops": 2e9, "bytes_touched": 1e6, "persistent_bytes": 2000},
        {"name": "b", "type": "B", "flops": 1e9, "bytes_touched": 5e6, "persistent_bytes": 1000},
        {"name": "c", "type": "C", "gpu_kernel": False, "colocation": "x"},
        {"name": "d", "type": "D", "gpu_kernel": True, "colocation": "x"},
    ]
    tensors = [
        {"producer": "a", "bytes": 4_000_000, "consumers": ["b", "c", "d"]},
        {"producer": "b", "bytes": 3_000_000, "consumers": ["d"]},
    ]
    graph = {"format": "placebench-graph-1", "name": "four", "ops": ops, "tensors": tensors}
    (folder / "four.json").write_text(json.dumps(graph))
    assert main(["graph", "four.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    facts = {line[:34].rstrip(): line[35:] for line in lines}
    assert facts == {
        "graph": "four",
        "from": "graph file four.json",
        "operations before pruning": "4",
        "operations": "4",
        "tensors, control edges included": "2",
        "edges (tensor, consumer)": "4",
        "colocation classes": "3",
        "operations without a GPU kernel": "1",
        "work of one step": "3.0 GFLOP",
        "bytes touched in one step": "6.0 MB",
        "bytes of all tensors": "7.0 MB",
        "bytes of variables": "3.0 kB",
    }


def test_what_was_chosen_in_a_capture_is_among_the_facts(folder, capsys):
    """As an npz keeps it."""
    known = {"ops_unpruned": 1234, "parameters": 5678, "choices": ["one", "another"]}
    write_graph(replace(read_graph(folder / "g.json"), metadata=known), folder / "g.npz")
    assert main(["graph", "g.npz"]) == 0
    lines = capsys.readouterr().out.splitlines()
    facts = [(line[:34].rstrip(), line[35:]) for line in lines]
    assert ("operations before pruning", "1,234") in facts
    assert facts[-3:] == [
        ("trainable parameters", "5,678"),
        ("chosen here", "one"),
        ("chosen here", "another"),
    ]


@pytest.mark.parametrize(("known", "told"), [({"paper_ops": 12345}, "12,345"), ({}, "not given")])
def test_of_a_task_the_papers_count_is_a_fact(folder, known, told):
    graph = replace(read_graph(folder / "g.json"), metadata=known)
    assert ("operations in the paper", told) in _facts(Loaded(graph, "task nmt_2", "nmt_2"))


def test_list_names_everything(capsys):
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for entry in (
        "placer   best_of_random",
        "placer   scotch",
        "task     nmt_8",
        "machine  k40",
        "grid     quick",
        "grid     smoke",
        "table    hdp_table1",
    ):
        assert any(line.startswith(entry) for line in lines), entry
    assert not any("MISSING" in line for line in lines)


def edited(folder, name, old, new):
    path = folder / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("g.json", '"consumers": ["b"]', '"consumers": ["b", "a"]', "cycle: a -> a; remove one"),
        ("g.json", '"bytes": 1000000', '"bytes": -1', "'a' has -1 bytes; give >= 0"),
        ("g.json", '"tensors"', '"tensor"', "unknown key 'tensor'; known: format, name, ops"),
        ("g.json", "}]}", "", "g.json is not whole JSON"),
        ("g.json", '"gpu_kernel": true', '"gpu_kernel": false', "no GPU kernel but is on gpu:0"),
        ("g.json", '"colocation": null', '"colocation": "x"', "must share a device but are on"),
        ("p.json", '"a": "gpu:0", ', "", "no device for 'a' (1 operations missing, 0 unknown)"),
        ("p.json", '"gpu:0"', '"gpu:1"', "no device 'gpu:1'; it has cpu:0, gpu:0"),
        ("p.json", "}}", "", "p.json is not whole JSON"),
        ("m.toml", 'memory = "1 GB"\n', "", "device gpu:0 has no memory; add it"),
        ("m.toml", '"1 GB"', '"1 Gold"', "memory is '1 Gold'; write a size such as"),
        ("m.toml", "peak_flops = 1e12", "peak_flops = -1", "peak_flops is -1; give a number > 0"),
        ("m.toml", 'name = "two"', 'backend = "clstr"', "m.toml: no backend 'clstr'; did you m"),
        ("m.toml", "[[link]]", "[[", "m.toml: not valid TOML"),
        ("m.toml", "[[link]]", '[[link]]\nfrom = "x:9"', "from 'x:9', which is no device"),
        ("m.toml", "[[link]]", '[[link]]\nfrom = "gpu"', "no [[link]] serves cpu:0 -> gpu:0"),
    ],
)
def test_a_broken_file_is_one_line(folder, capsys, name, old, new, words):
    edited(folder, name, old, new)
    assert_refused(SIMULATE, words, capsys)


def assert_refused(arguments, words, capsys):
    try:
        code = main(arguments)
    except SystemExit as left:
        code = left.code
    output = capsys.readouterr()
    assert code == 2
    assert output.err.startswith("placebench: error: ")
    assert words in output.err
    assert output.err.count("\n") == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "required: COMMAND; see placebench --help"),
        ("benhc", "invalid choice: 'benhc'"),
        (
            "verify --results runs",
            "unrecognized arguments: --results; see placebench verify --help",
        ),
        ("simulate nmt_3 --placer random", "no task 'nmt_3'; did you mean 'nmt_"),
        ("simulate --placer random", "name one model"),
        ("simulate g.json --graph g.json --placer random", "name one model"),
        ("simulate none.json --placer random --machine k40", "cannot read none.json"),
        ("simulate --graph . --placer random --machine k40", "cannot read .: Is a directory"),
        ("simulate g.json", "give one of --placement FILE and --placer NAME"),
        ("simulate g.json --placer scoth", "no placer 'scoth'; did you mean 'scotch'? known: "),
        (
            "simulate g.json --placer random --set k=1",
            "placer random has no parameter 'k'; it has none",
        ),
        ("simulate g.json --placer best_of_random --set k=0", "k is 0; give >= 1"),
        ("simulate g.json --placer best_of_random --set k", "--set k: write name=value"),
        (
            "simulate g.json --placer best_of_random --evaluations 0 --machine k40",
            "needs a budget of at least",
        ),
        (
            "simulate g.json --placer human_expert --machine k40",
            "two_ops has no human expert's placement",
        ),
        ("simulate g.json --placer gpu_only --gpus 0 --machine k40", "GPU"),
        ("simulate g.json --placer random --gpus 99 --machine k40", "has 8 GPUs, not 99"),
        ("simulate g.json --placer random --gpus -1", "'-1' is no whole number >= 0"),
        ("place g.json --placer annealing --seconds 0", "'0' is no number of seconds > 0"),
        *(
            (
                f"{line} {seconds}",
                f"{seconds} seconds are too long; give 2,073,600 seconds (24 days)",
            )
            for line in (
                "run g.json --placement p.json --timeout",
                "fidelity nmt_2 --machine m.toml --timeout",
                "place g.json --placer annealing --seconds",
            )
            for seconds in ("2.1e6", "1e7", "inf")
        ),
        ("place g.json --placer annealing --seconds nan", "'nan' is no number of seconds > 0"),
        (
            "profile here --wait 1e5",
            "1e5 minutes are too long; give 34,560 minutes (24 days) at most",
        ),
        ("profile here --wait 0", "'0' is no number of minutes > 0"),
        ("simulate g.json --placer random --seed -1", "'-1' is no whole number >= 0"),
        (
            "simulate g.json --placer random --machine k40 --policy lifo",
            "no policy 'lifo'; one of fifo",
        ),
        (
            "simulate g.json --placer random --machine k40 --semantics hetero --policy fifo",
            "semantics hetero has no policies; leave the policy out",
        ),
        ("simulate g.json --placer random --machine k41", "no machine 'k41'; known: a100_8"),
        ("place g.json --machine k40 --set k=1", "--set goes with a placer; add --placer"),
        (
            "place g.json --policy p.npz",
            "--policy goes with a placer that learns; add --placer NAME",
        ),
        (
            "place --graph g.json --machine k40 --batch 4",
            "'g.json' has fixed inputs; leave out --batch",
        ),
        ("simulate g.json --placement p.json --set k=3", "--set is for a placer; leave it out"),
        ("simulate g.json --placement p.json --seconds 3", "--seconds is for a placer; leave"),
        ("simulate g.json --placement p.json --seed 0", "--seed is for a placer; leave it out"),
        ("graph g.json --machine nope", "--machine goes with --workload FILE; add it"),
        ("graph g.json --inference", "--inference goes with --workload FILE; add it"),
        (
            "graph g.json --machine m.toml --workload w.json --json",
            "--workload writes blocks, --json the graph; give one of them",
        ),
        (
            "graph g.json --machine m.toml --workload w.json --output g.npz",
            "--workload writes blocks, --output the graph; give one of them",
        ),
        (
            "graph g.json --machine m.toml --workload w.json --output ./w.json",
            "--output and --workload are both w.json; give two files",
        ),
        (
            "fidelity none.json g.json --machine m.toml --output g.json",
            "--output and TASK are both g.json; give two files",
        ),
        ("bench m.toml --output m.toml", "--output and GRID are both m.toml; give two files"),
        ("workload g.json --output g.json", "--output and FILE are both g.json; give two files"),
        (
            "workload g.json --placement g.json",
            "--placement and FILE are both g.json; give two files",
        ),
        (
            "graph g.json --machine m.toml --workload ./g.json",
            "--workload and MODEL are both g.json; give two files",
        ),
        (
            "graph g.json --machine m.toml --workload w.json --cpus 2",
            "machine two has 1 CPU; give --cpus 1",
        ),
        ("graph g.json --cpus 0", "--cpus goes with --workload FILE; add it"),
        ("graph g.json --gpus 77", "--gpus goes with --workload FILE; add it"),
        ("workload w.json --calls 0", "argument --calls: '0' is no whole number >= 1"),
        ("run m --placement p.json --steps 1", "argument --steps: '1' is no whole number >= 2"),
        ("gate a b --commit HEAD", "--commit goes with --interleave BENCH; add it"),
        ("bench smoke --machine m.toml", "a grid has the name of a machine; put the file into"),
        ("graph nmt_9", "no task 'nmt_9'"),
        ("graph", "name one model: a task, a file, package.module:function"),
        ("graph ./nmt_4", "cannot tell what './nmt_4' is; give a task, a graph (.json, .npz)"),
        ("graph none.keras", "cannot read none.keras: No such file"),
        ("graph none.pb.gz", "cannot read none.pb.gz: No such file"),
        ("graph g.json --batch 3", "'g.json' has fixed inputs; leave out --batch"),
        ("graph n.keras --batch 0", "the batch is 0; give >= 1"),
        ("graph n.keras --input x=3,0", "input x: the shape is (3, 0); give sizes >= 1"),
        ("graph n.keras --input x", "--input x: write NAME=SIZE,SIZE,... with whole numbers"),
        ("graph n.keras --input x=3x4", "--input x=3x4: write NAME=SIZE"),
        ("graph n.keras --input x=int32:a", "--input x=int32:a: write NAME=SIZE"),
        ("graph n.keras --input x=int31:4", "input x: there is no type 'int31'; give one such"),
        ("graph n.keras --fetch x", "--fetch is for GraphDefs and SavedModels; leave"),
        ("bench quik", "no grid or table 'quik'; did you mean 'quick'? known: "),
        ("bench none.toml", "cannot read none.toml"),
        ("bench m.toml", "m.toml: the grid has the unknown key 'name'"),
        ("bench smoke --only nothing", "no cell of smoke has 'nothing' in its name"),
        ("bench smoke --expose", "--expose goes with --backend cluster; add it"),
        ("bench smoke --workers -1", "'-1' is no whole number >= 0"),
        ("bench smoke --output /proc/no", "cannot use /proc/no"),
        ("fidelity nmt_2 --machine k40 --rounds 0", "is no whole number >= 1"),
        ("gate a b --rounds 0", "argument --rounds: '0' is no whole number >= 1"),
        ("profile here --cpus 0", "argument --cpus: '0' is no whole number >= 1"),
        ("profile k40 --cpus 1", "k40 is a machine of placebench; give this host another name"),
        ("profile here --cpus 1 --output g.json/deep", "cannot make g.json/deep/here.toml in"),
        ("fidelity a/net.json b/net.json --machine k40", "have one name; rename one"),
        ("fidelity nmt_2.json --machine k40", "nmt_2.json is named like a task of placebench"),
        ("verify none", "no records with placements below none; run bench first"),
        ("report --results none", "none"),
    ],
)
def test_a_wrong_call_is_one_line(capsys, line, words):
    assert_refused(line.split(), words, capsys)


@pytest.mark.usefixtures("folder")
def test_a_trace_that_cannot_be_written_is_told_on_one_line(capsys):
    """Also where that shows only when it is written; what is first to simulate says more before."""
    run = ["simulate", "g.json", "--placer", "random", "--machine", "k40"]
    assert main(run) == 0
    capsys.readouterr()
    assert_refused([*run, "--trace", "/proc/no/t.json"], "cannot use /proc/no", capsys)


@pytest.mark.parametrize("command", [[], ["bench"], ["simulate"], ["list"], ["verify"]])
def test_help_is_quick_and_shows_examples(command):
    code = (
        "import sys; from suite.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "heavy = {'tensorflow', 'pandas', 'matplotlib', 'numba', 'keras', 'numpy'}\n"
        "heavy |= {'openvino'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    run = [sys.executable, "-P", "-c", code, *command, "--help"]
    shown = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    assert "examples:\n  placebench " in shown.stdout


def test_version():
    shown = placebench("--version")
    assert shown.returncode == 0
    assert shown.stdout.startswith("placebench 0.")


def test_a_reader_that_leaves_is_no_error():
    run = [*COMMAND, "graph", str(SMOKE_GRAPH), "--json"]
    with subprocess.Popen(
        run, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize("command", [("list", "machines"), ("--version",)])
def test_a_full_disk_behind_what_is_printed_is_one_line(command):
    with Path("/dev/full").open("w") as full:
        streams = {"capture_output": False, "stdout": full, "stderr": subprocess.PIPE}
        ended = placebench(*command, **streams)
    assert ended.returncode == 2
    assert ended.stderr == (
        "placebench: error: cannot write what is printed: No space left on device; make room\n"
    )


def test_what_the_system_refuses_is_one_line(monkeypatch, capsys):
    def refused(_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr("suite.commands.list.run", refused)
    assert main(["list"]) == 2
    told = "placebench: error: the system refuses: Too many open files; raise the limits"
    assert capsys.readouterr().err.startswith(told)


@pytest.mark.parametrize("closed", [1, 2])
def test_a_stream_that_is_closed_is_no_error(closed):
    """Nor does it make the other one print what is not meant for it."""
    done = placebench("graph", "no.json", preexec_fn=partial(os.close, closed))
    assert done.returncode == 2
    assert (done.stdout, done.stderr.count("\n")) == ("", closed == 1)
    assert placebench("list", "machines", preexec_fn=partial(os.close, closed)).returncode == 0


def test_names_that_the_terminal_cannot_print_are_printed_as_numbers(folder):
    (folder / "g.json").write_text(json.dumps(GRAPH | {"name": "größe"}))
    plain = ENVIRONMENT | {"PYTHONIOENCODING": "ascii"}
    shown = placebench("graph", folder / "g.json", env=plain)
    assert shown.returncode == 0
    assert "gr\\xf6\\xdfe" in shown.stdout


def test_a_native_crash_is_one_line(folder, tmp_path):
    (tmp_path / "hung.py").write_text(
        "from dataclasses import dataclass\n"
        "from suite.search.subprocess_call import call\n"
        "@dataclass(frozen=True)\n"
        "class Native:\n"
        "    def place(self, problem, search):\n"
        "        call('libgone', 'faulthandler:_sigsegv', {})\n"
    )
    info = tmp_path / "hung-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hung\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[placebench.placers]\nnative = hung:Native [fast]\nodd = no-name.mod:Odd\n"
    )
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    environment = ENVIRONMENT | {"PYTHONPATH": path}
    run = placebench(
        *("simulate", "g.json", "--machine", "k40", "--placer", "native"),
        env=environment,
        cwd=folder,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("placebench: error: libgone died with signal 11 (SIGSEGV)")
    assert run.stderr.count("\n") == 1


def test_what_a_command_reads_is_not_written_over(folder, capsys):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    simulate = ["simulate", "g.json", "--machine", "m.toml", "--placement", "p.json"]
    for trace, other in (("p.json", "--placement"), ("./g.json", "MODEL"), ("m.toml", "--machine")):
        assert main([*simulate, "--trace", trace]) == 2
        assert f"--trace and {other} are both {Path(trace)}; give" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_file_is_known_by_all_of_its_names(folder, capsys):
    """As by a link: what it holds would be lost all the same."""
    (folder / "link.json").symlink_to("g.json")
    before = (folder / "g.json").read_bytes()
    simulate = ["simulate", "link.json", "--machine", "m.toml", "--placement", "p.json"]
    assert main([*simulate, "--trace", "g.json"]) == 2
    assert "--trace and MODEL are both g.json; give two files" in capsys.readouterr().err
    assert (folder / "g.json").read_bytes() == before


def test_what_only_sounds_like_a_file_that_is_read_is_written(folder):
    """The name of a machine, of a placer, and that of the command, also at the second call."""
    machine = ["--machine", "k40", "--gpus", "1"]
    simulate = ["simulate", "g.json", *machine, "--placement", "p.json", "--trace"]
    for name in ("k40", "simulate") * 2:
        assert main([*simulate, name]) == 0
        assert json.loads((folder / name).read_text())["traceEvents"]
    place = ["place", "g.json", *machine, "--placer", "cpu_only", "--output"]
    for name in ("k40", "cpu_only", "place") * 2:
        assert main([*place, name]) == 0
        assert json.loads((folder / name).read_text())["devices"]


@pytest.mark.usefixtures("folder")
def test_a_task_is_no_file_of_its_name():
    """Nor is a step in Python: what it computes is in a file of another name."""
    for model in ("nmt_2", "net:step"):
        Path(model).touch()
        check_written(parser().parse_args(["place", model, "--output", model]))
    check_written(parser().parse_args(["profile", "x", "--task", "nmt_2", "--output", "nmt_2"]))
    twice = parser().parse_args(["place", "g.json", "--output", "g.json"])
    with pytest.raises(InputError, match=r"--output and MODEL are both g\.json; give two files"):
        check_written(twice)


def test_links_in_a_circle_are_one_line(folder, capsys):
    (folder / "here").symlink_to("there")
    (folder / "there").symlink_to("here")
    for model in (["--graph", "here"], ["here.json"]):
        line = ["simulate", *model, "--machine", "m.toml", "--placement", "here"]
        assert_refused(line, "cannot read here", capsys)


def test_a_start_that_is_no_placer_is_said_in_one_line(folder, capsys):
    graph = ["--graph", str(SMOKE_GRAPH), "--machine", "k40", "--evaluations", "9"]
    assert main(["place", *graph, "--placer", "annealing", "--set", "starts=['meits']"]) == 2
    assert "no placer 'meits'; did you mean 'metis'? known: annealing, " in capsys.readouterr().err


def test_a_line_break_in_a_name_makes_no_second_line(capsys):
    assert main(["place", "no\nt.json", "--machine", "k40", "--placer", "metis"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no\\nt.json" in line
