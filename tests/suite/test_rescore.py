"""Semantics on the command line, in grids and in records."""

import json

import pytest
from command_line import records, write_grid
from two_ops import GRAPH, MACHINE, PLACEMENT

from suite.bench.fingerprint import fingerprint
from suite.bench.grid import load_grid
from suite.cli import main
from suite.simulator.semantics import PRESETS


@pytest.fixture
def grid(tmp_path):
    return write_grid(tmp_path / "g.toml", {"gpu_only": 1, "scotch": 1})


def bench(grid, results):
    return main(["bench", str(grid), "--output", str(results), "--workers", "0"])


def under(grid, semantics):
    """The grid with a ``semantics`` key."""
    grid.write_text(f'semantics = "{semantics}"\n{grid.read_text()}')
    return grid


def test_records_say_how_they_fare_under_every_semantics(grid, tmp_path):
    assert bench(grid, tmp_path / "r") == 0
    for record in records(tmp_path / "r").values():
        verdicts = record["under_semantics"]
        assert list(verdicts) == list(PRESETS)
        assert verdicts["placebench"] == {"step_time": record["step_time"], "oom": record["oom"]}
    times = records(tmp_path / "r")["scotch/seed0"]["under_semantics"]
    assert times["grappler"]["step_time"] < times["placebench"]["step_time"]


def test_a_grid_may_have_another_judge(grid, tmp_path, capsys):
    bench(grid, tmp_path / "ours")
    bench(under(grid, "grappler"), tmp_path / "theirs")
    ours, theirs = (records(tmp_path / part)["scotch/seed0"] for part in ("ours", "theirs"))
    assert theirs["semantics"] == "grappler"
    assert theirs["step_time"] == theirs["under_semantics"]["grappler"]["step_time"]
    assert theirs["lower_bound"] is None
    assert ours["fingerprint"] != theirs["fingerprint"]
    assert main(["verify", str(tmp_path / "theirs")]) == 0
    assert "x bound" not in capsys.readouterr().out.splitlines()[-3]


def test_the_default_may_be_named(grid):
    jobs = load_grid(str(grid)).jobs
    named = load_grid(str(under(grid, "placebench"))).jobs
    assert [fingerprint(job) for job in jobs] == [fingerprint(job) for job in named]


def test_a_grid_with_unknown_semantics_is_refused(grid, capsys):
    assert main(["bench", str(under(grid, "park"))]) == 2
    known = "no semantics 'park'; one of placebench, placeto, baechi, grappler"
    assert known in capsys.readouterr().err


def test_rescore_adds_what_older_records_lack(grid, tmp_path, capsys):
    results = tmp_path / "r"
    bench(grid, results)
    whole = {path: path.read_bytes() for path in results.rglob("seed*.json")}
    first, second = sorted(whole)
    for path, known in ((first, 0), (second, 2)):
        old = json.loads(whole[path])
        kept = dict(list(old.pop("under_semantics").items())[:known])
        path.write_text(json.dumps(old | ({"under_semantics": kept} if kept else {})))
    assert main(["verify", str(results)]) == 0
    assert main(["rescore", str(results)]) == 0
    assert "2 records scored anew, 0 had the same scores" in capsys.readouterr().out
    assert {path: json.loads(path.read_bytes()) for path in whole} == {
        path: json.loads(content) for path, content in whole.items()
    }
    assert main(["rescore", str(results)]) == 0
    assert "0 records scored anew, 2 had the same scores" in capsys.readouterr().out


def test_rescore_leaves_records_that_do_not_verify(grid, tmp_path, capsys):
    bench(grid, tmp_path / "r")
    path = next((tmp_path / "r").rglob("scotch/seed0.json"))
    record = json.loads(path.read_text())
    record["under_semantics"]["baechi"]["step_time"] *= 2
    path.write_text(json.dumps(record))
    before = path.read_bytes()
    assert main(["rescore", str(tmp_path / "r")]) == 1
    assert "simulated again, under_semantics differ" in capsys.readouterr().out
    assert path.read_bytes() == before


def test_rescore_without_records_says_so(tmp_path, capsys):
    assert main(["rescore", str(tmp_path)]) == 2
    assert "run bench first" in capsys.readouterr().err


@pytest.fixture
def simulate(tmp_path, capsys):
    """The verdict on two_ops: a, 0.1 s on gpu:0, sends 1 MB to b, 0.5 s on cpu:0."""
    for name, text in (("g.json", GRAPH), ("p.json", PLACEMENT)):
        (tmp_path / name).write_text(json.dumps(text))
    (tmp_path / "m.toml").write_text(MACHINE)

    def run(*arguments):
        line = ["simulate", "--graph", "g.json", "--machine", "m.toml", "--placement", "p.json"]
        files = [str(tmp_path / a) if "." in a else a for a in line]
        code = main([*files, "--json", *arguments])
        printed = capsys.readouterr()
        return json.loads(printed.out) if code == 0 else printed.err

    return run


@pytest.mark.parametrize(
    ("semantics", "seconds", "moved"),
    [
        ("placebench", 0.6 + 1e-3 + 2e-5, {"gpu:0->cpu:0": 1000000}),
        ("placeto", 0.6 + 1e-3 + 5.7e-6, {"gpu:0 send": 1000000}),
        ("baechi", 0.6 + 1e-3 + 2e-5, {"cpu:0": 1000000, "gpu:0": 1000000}),
        ("grappler", 0.6, {"gpu:0->cpu:0": 1000000}),
    ],
)
def test_simulate_takes_semantics(simulate, semantics, seconds, moved):
    verdict = simulate("--semantics", semantics)
    assert verdict["step_time"] == pytest.approx(seconds, abs=1e-12)
    assert {name: size for name, size in verdict["moved"].items() if size} == moved


def test_simulate_refuses_unknown_semantics_and_policies_it_cannot_have(simulate):
    assert "one of placebench, placeto, baechi, grappler" in simulate("--semantics", "park")
    assert "use the policy fifo" in simulate("--semantics", "baechi", "--policy", "priority")
