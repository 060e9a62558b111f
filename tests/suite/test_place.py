"""placebench place: what it compares, what it says of its options."""

import json
import re
import tempfile

import pytest
from command_line import SMOKE_GRAPH, placebench
from two_ops import GRAPH, MACHINE
from users_models import placed

from suite.bench import compare
from suite.bench.first_use import compile_first
from suite.cli import main
from suite.commands._kept import Keeper
from suite.core.compile_time import COMPILE_TIME
from suite.core.problem import Problem
from suite.formats.interchange import read_graph, read_placement
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate


def test_a_wrong_placer_is_told_before_the_model_is_captured(user_folder, capsys):
    (user_folder / "net.keras").write_text("never read")
    assert main(["place", "net.keras", "--placer", "gpu_onyl"]) == 2
    assert "no placer 'gpu_onyl'; did you mean 'gpu_only'?" in capsys.readouterr().err


def test_the_comparison_by_hand(user_folder, capsys):
    """a, then b: 0.5 s each on the CPU, 0.1 s each on the GPU; nothing else can be as fast."""
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    (user_folder / "m.toml").write_text(MACHINE)
    arguments = ["g.json", "--machine", "m.toml", "--placer", "cpu_only"]
    verdict = placed(capsys, *arguments)
    assert (verdict["step_time"], verdict["status"], verdict["oom"]) == (1.0, "oom", ["cpu:0"])
    assert (verdict["lower_bound"], verdict["ratio_to_bound"]) == (0.2, 5.0)
    others = {trial["placer"]: trial for trial in verdict["comparison"]}
    assert others["gpu_only"]["step_time"] == pytest.approx(0.2)
    assert others["gpu_only"]["ratio_to_bound"] == pytest.approx(1.0)
    assert main(["place", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "bound      0.200000 s, proven (critical_path); this is x5.00" in lines
    (row,) = [line for line in lines if line.startswith("cpu_only")]
    assert row.split()[:4] == ["cpu_only", "1.000000", "s", "5.00"]
    assert row.endswith("out of memory: cpu:0")
    assert [k.split()[0] for k in lines[-5:]] == [
        "cpu_only",
        "gpu_only",
        "scotch",
        "mincut",
        "metis",
    ]


def test_without_a_placer_the_fastest_of_many_is_taken(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    (user_folder / "m.toml").write_text(MACHINE)
    arguments = ["g.json", "--machine", "m.toml", "--evaluations", "300"]
    verdict = placed(capsys, *arguments, "--output", "answer.json")
    trials = [verdict, *verdict["comparison"]]
    fits = [trial for trial in trials if trial["status"] == "ok"]
    assert verdict["step_time"] == min(trial["step_time"] for trial in fits)
    assert verdict["fastest"] == verdict["placer"]
    assert {"annealing", "metis", "heft", "m_etf"} <= {trial["placer"] for trial in trials}
    assert json.loads((user_folder / "answer.json").read_text())
    assert main(["place", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    (told,) = [line for line in lines if line.startswith("placer ") and "none was named" in line]
    assert "300 evaluations of annealing and 9 quick placers" in told
    (best,) = [line for line in lines if line.endswith("  fastest")]
    assert best.split()[0] == verdict["placer"]


def test_on_one_device_nothing_is_searched_and_nothing_else_is_said(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    assert main(["place", "g.json", "--machine", "k40", "--gpus", "0"]) == 0
    said = capsys.readouterr()
    assert "placer     none was named, and none is needed: cpu:0 is the only device" in said.out
    assert "did nothing" not in said.err


def test_what_needs_a_placer_says_so(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    for more in (["--set", "k=5"], ["--judge", "worst"], ["--measure-top", "3"]):
        assert main(["place", "g.json", "--machine", "k40", *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{more[0]} goes with a placer; add --placer" in line


def test_options_of_searches_are_told_where_a_placer_searches_nothing(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    given = ["place", "g.json", "--machine", "k40", "--evaluations", "9", "--placer"]
    assert main([*given, "metis", "--judge", "mean", "--spread", "0.1"]) == 0
    told = "placebench: metis had no placement judged, so that --evaluations, --judge did nothing"
    assert told in capsys.readouterr().err.splitlines()
    assert main([*given, "best_of_random"]) == 0
    assert "did nothing" not in capsys.readouterr().err


def test_a_search_that_logs_no_steps_says_that_tensorboard_has_none(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    given = ["place", "g.json", "--machine", "k40", "--evaluations", "9", "--tensorboard", "board"]
    assert main([*given, "--placer", "best_of_random"]) == 0
    told = "placebench: best_of_random logs no steps, so that --tensorboard wrote nothing"
    assert told in capsys.readouterr().err.splitlines()
    assert main([*given, "--placer", "post", "--set", "samples=2"]) == 0
    assert "--tensorboard" not in capsys.readouterr().err
    assert len(list((user_folder / "board").iterdir())) == 1


def test_the_fastest_is_marked_where_a_placer_was_named_too(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    (user_folder / "m.toml").write_text(MACHINE)
    assert main(["place", "g.json", "--machine", "m.toml", "--placer", "cpu_only"]) == 0
    (best,) = [line for line in capsys.readouterr().out.splitlines() if line.endswith("  fastest")]
    assert best.startswith("gpu_only")


def test_what_a_placer_compiles_is_there_before_its_clock_starts(user_folder, monkeypatch):
    """From then on nothing is left to compile, whatever the caches held before."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(user_folder / "compiled"))
    machine = load_machine("k40").with_gpus(2)
    placer = make_placer("heft", {})
    compile_first("heft", placer, machine)
    assert (user_folder / "compiled" / "complete").is_dir()
    before = COMPILE_TIME.wall
    problem = Problem.create(read_graph(SMOKE_GRAPH), machine)
    placer.place(problem, Search(problem, Simulator(problem)))
    assert COMPILE_TIME.wall == before


@pytest.mark.parametrize(("seed", "evaluations"), [(0, 3), (5, 60)])
def test_a_search_is_that_of_its_seed_and_its_budget(seed, evaluations, capsys):
    asked = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2", "--json"]
    asked += ["--placer", "best_of_random", "--seed", str(seed), "--evaluations", str(evaluations)]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    problem = Problem.create(read_graph(SMOKE_GRAPH), load_machine("k40").with_gpus(2))
    search = Search(problem, Simulator(problem), seed, evaluations)
    placement = make_placer("best_of_random", {}).place(problem, search)
    assert told["evaluations"] == search.evaluations == evaluations
    assert told["step_time"] == simulate(problem, placement.devices).step_time


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("inner", ["false", "true"])
@pytest.mark.parametrize(
    ("by", "code", "words"),
    [
        ("an interrupt", 130, "interrupted"),
        ("SIGTERM", 143, "interrupted"),  # of kill, timeout and batch systems
        ("SIGHUP", 129, "interrupted"),  # of a terminal that closes
        ("the backend is gone", 2, "error: the backend is gone"),
    ],
)
def test_the_best_that_a_stopped_search_met_is_kept(tmp_path, inner, by, code, words):
    """In a process of its own: Ray, once it has run in this one, keeps SIGTERM to itself."""
    output = tmp_path / "p.json"
    asked = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2", "--seed", "3"]
    asked += ["--placer", "stopped", "--set", f"by={by}", "--set", f"inner={inner}"]
    stopped = placebench(*asked, "--output", output)
    assert stopped.returncode == code
    problem = Problem.create(read_graph(SMOKE_GRAPH), load_machine("k40").with_gpus(2))
    search = Search(problem, Simulator(problem), 3)
    with pytest.raises(KeyboardInterrupt):
        make_placer("stopped", {}).place(problem, search)
    assert (read_placement(output, problem).devices == search.best.devices).all()
    seconds = f"{search.best_time:.6f} s"
    told = f"placebench: kept {output}: the best of stopped after 20 evaluations, step time "
    assert stopped.stderr.splitlines() == [told + seconds, f"placebench: {words}"]


def test_of_a_stopped_search_without_a_file_to_keep_its_best_there_is_nothing_to_say():
    asked = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2"]
    stopped = placebench(*asked, "--placer", "stopped")
    assert stopped.returncode == 130
    assert stopped.stderr.splitlines() == ["placebench: interrupted"]


@pytest.mark.usefixtures("plugin")
def test_a_stopped_search_that_met_nothing_that_fits_writes_nothing(user_folder, capsys):
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    (user_folder / "m.toml").write_text(re.sub('memory = ".*"', 'memory = "1 B"', MACHINE))
    asked = ["place", "g.json", "--machine", "m.toml", "--placer", "stopped", "--output", "p.json"]
    assert main(asked) == 130
    assert capsys.readouterr().err.splitlines() == ["placebench: interrupted"]
    assert not (user_folder / "p.json").exists()


def test_of_many_placers_the_fastest_so_far_is_kept(user_folder, capsys, monkeypatch):
    """The search has no budget and gives nothing; of those after it the second is the faster."""
    (user_folder / "g.json").write_text(json.dumps(GRAPH))
    (user_folder / "m.toml").write_text(MACHINE.replace("4 MB", "1 GB"))
    answer = compare._tried

    def tried(problem, simulator, name, seed):
        if name == "scotch":
            raise KeyboardInterrupt
        return answer(problem, simulator, name, seed)

    monkeypatch.setattr(compare, "_tried", tried)
    asked = ["place", "g.json", "--machine", "m.toml", "--evaluations", "0", "--output", "p.json"]
    assert main(asked) == 130
    problem = Problem.create(read_graph(user_folder / "g.json"), load_machine("m.toml"))
    assert read_placement(user_folder / "p.json", problem).devices.tolist() == [1, 1]
    told = "placebench: kept p.json: the best of gpu_only, step time 0.200000 s"
    assert capsys.readouterr().err.splitlines() == [told, "placebench: interrupted"]


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("command", ["place", "simulate"])
def test_a_placer_of_ones_own_that_fails_is_told_in_one_line(command, capsys):
    asked = [command, "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--placer", "raises"]
    assert main(asked) == 2
    (line,) = capsys.readouterr().err.splitlines()
    told = r"placebench: error: placer raises fails: \w+Error: .* \(awkward\.py:\d+\); mend it"
    assert re.fullmatch(told, line)


@pytest.fixture
def temporary(user_folder, monkeypatch):
    """The folder of temporary files."""
    folder = user_folder / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_an_answer_whose_file_cannot_be_written_is_printed_and_kept_elsewhere(
    user_folder, temporary, capsys, more
):
    """Nor does it keep the trace from being written."""
    asked = ["place", "--graph", str(SMOKE_GRAPH), "--machine", "k40", "--gpus", "2", *more]
    asked += ["--placer", "blocks", "--set", 'path="out"', "--trace", "t.json"]
    assert main([*asked, "--output", "out/p.json"]) == 2
    said = capsys.readouterr()
    (written,) = temporary.rglob("p.json")
    told = "placebench: error: cannot write out/p.json: File exists; copy "
    assert said.err == f"{told}{written}, which was written instead\n"
    problem = Problem.create(read_graph(SMOKE_GRAPH), load_machine("k40").with_gpus(2))
    taken = simulate(problem, read_placement(written, problem).devices).step_time
    assert json.loads((user_folder / "t.json").read_text())
    if more:
        assert json.loads(said.out)["step_time"] == taken
    else:
        assert f"step time  {taken:.6f} s" in said.out
        assert said.out.splitlines()[-2:] == ["wrote t.json", f"wrote {written}"]


def test_what_could_not_be_written_is_where_it_belongs_once_it_can(tmp_path, temporary, capsys):
    path, blocked = tmp_path / "out" / "p", tmp_path / "out"
    blocked.touch()
    keeper = Keeper("any", {path: lambda answer, path: path.write_text(answer)})
    keeper("first")
    blocked.unlink()
    blocked.mkdir()
    assert keeper.settle() == [path]
    assert path.read_text() == "first"
    assert not keeper.troubles
    assert not capsys.readouterr().err
    assert not list(temporary.iterdir())


def test_what_an_interrupt_kept_from_being_written_is_written_after_it(tmp_path):
    path, interrupts = tmp_path / "p", [KeyboardInterrupt]

    def write(answer, path):
        if interrupts:
            raise interrupts.pop()
        path.write_text(answer)

    keeper = Keeper("any", {path: write})
    with pytest.raises(KeyboardInterrupt):
        keeper("found")
    assert keeper.settle() == [path]
    assert path.read_text() == "found"


def test_nothing_but_json_reaches_standard_output(tmp_path):
    """Not even what a compiled library prints by itself, which only a process of its own shows."""
    graph = ["--graph", SMOKE_GRAPH, "--machine", "k40", "--gpus", 2]
    done = placebench("place", *graph, "--placer", "m_sct", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["machine"] == "k40"
