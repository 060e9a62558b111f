"""placebench gate: green, or one of three reds, each with its word and its exit code."""

import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import ROOT, placebench, write_grid

from suite.cli import main
from suite.commands.gate import ROUNDS
from suite.core.errors import InputError
from suite.core.statistics import ratio_interval
from suite.gate.interleave import Side, interleave
from suite.gate.runs import read_runs
from suite.gate.verdict import Verdict, confirmed, exit_code
from suite.report.gate_summary import summary

GREEN, SLOWER, MISSING, NOTHING = 0, 3, 4, 5


@pytest.fixture(scope="session")
def smoke(tmp_path_factory):
    """Real records of the smoke grid."""
    results = tmp_path_factory.mktemp("smoke")
    assert placebench("bench", "smoke", "--output", results, "--workers", 0).returncode == 0
    return results


@pytest.fixture
def sides(smoke, tmp_path):
    """Base and head with the same records."""
    return [Path(shutil.copytree(smoke, tmp_path / name)) for name in ("base", "head")]


def gate(capsys, *arguments):
    code = main(["gate", *(str(a) for a in arguments)])
    return code, capsys.readouterr().out


def change(path, **fields):
    record = json.loads(path.read_text())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record | fields))


def test_the_same_records_are_green(sides, capsys):
    code, text = gate(capsys, *sides)
    assert code == GREEN
    assert text == "## Gate: green\n\n8 equal, 1 not measured.\n"


def test_a_nanosecond_is_seen_in_a_simulated_cell(sides, capsys):
    path = sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json"
    before = json.loads(path.read_text())["step_time"]
    change(path, step_time=before + 1e-9)
    code, text = gate(capsys, *sides)
    assert code == SLOWER
    assert "Gate: slower" in text
    assert "smoke/k40/2gpu/tiny/metis/seed0" in text
    change(path, step_time=before - 1e-9)
    code, text = gate(capsys, *sides)
    assert code == GREEN
    assert "1 faster" in text


def test_what_was_measured_must_be_again(sides, capsys):
    (sides[1] / "smoke/k40/2gpu/tiny/random/seed1.json").unlink()
    change(sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json", status="oom", reason="gpu:0 is full")
    code, text = gate(capsys, *sides)
    assert code == MISSING
    assert "Gate: missing" in text
    assert "seed 1: no record" in text
    assert "seed 0: oom gpu:0 is full" in text


def test_slower_goes_before_missing_and_both_are_said(sides, capsys):
    (sides[1] / "smoke/k40/2gpu/tiny/random/seed1.json").unlink()
    change(sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json", step_time=9.0)
    code, text = gate(capsys, *sides)
    assert code == SLOWER
    assert "Gate: slower, missing" in text


@pytest.mark.parametrize("empty", [0, 1])
def test_nothing_measured_is_no_green(sides, empty, capsys):
    shutil.rmtree(sides[empty])
    sides[empty].mkdir()
    code, text = gate(capsys, *sides)
    assert code == NOTHING
    assert "Gate: nothing measured" in text


def test_where_nothing_was_measured_each_cell_says_why(tmp_path, capsys):
    """The base's time-out: its head has a time, and is no new cell."""
    planted(tmp_path / "base", [None], status="timeout", reason="no answer after 100 seconds")
    planted(tmp_path / "head", [1.0])
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == NOTHING
    assert "seed 0: timeout no answer after 100 seconds" in text


def test_more_cells_than_before_are_green(sides, capsys):
    (sides[0] / "smoke/k40/2gpu/tiny/random/seed1.json").unlink()
    code, text = gate(capsys, *sides)
    assert (code, "1 new" in text) == (GREEN, True)


def test_what_had_no_time_before_is_not_new(sides, capsys):
    change(sides[0] / "smoke/k40/2gpu/tiny/metis/seed0.json", status="oom", reason="gpu:0 is full")
    code, text = gate(capsys, *sides)
    assert code == GREEN
    assert text == "## Gate: green\n\n7 equal, 2 not measured.\n"


def test_other_settings_are_told(sides, capsys):
    path = sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json"
    change(path, step_time=9.0, fingerprint="0123456789abcdef")
    assert "other settings" in gate(capsys, *sides)[1]


def test_trouble_is_one_line(sides, tmp_path, capsys):
    assert main(["gate", str(sides[0]), str(tmp_path / "nowhere")]) == 2
    assert "nowhere is no folder; give a results folder" in capsys.readouterr().err
    assert main(["gate", *map(str, sides), "--tolerance", "2"]) == 2
    assert "give a share such as 0.02" in capsys.readouterr().err
    assert main(["gate", *map(str, sides), "--tolerance=-0.1"]) == 2
    assert "give a share such as 0.02" in capsys.readouterr().err


def test_what_the_project_has_recorded_can_be_judged():
    """Fits of links among it, which are of no step."""
    runs = read_runs(ROOT / "results")
    assert {"quick", "reference"} <= {cell.grid for cell in runs}
    assert all(
        record["step_time"] is not None
        for rounds in runs.values()
        for record in rounds.values()
        if record["status"] == "ok"
    )


def test_a_step_without_its_time_is_told(sides, capsys):
    change(sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json", step_time=None)
    assert main(["gate", *map(str, sides)]) == 2
    assert "seed0.json is ok and has no step_time; run it again" in capsys.readouterr().err


@pytest.mark.parametrize(("field", "value"), [("seed", "0"), ("gpus", "2"), ("gpus", 2.0)])
def test_a_cell_whose_numbers_are_none_is_told(sides, field, value, capsys):
    """By its path it is where it belongs, but it is not equal to the cell that it is of."""
    path = sides[1] / "smoke/k40/2gpu/tiny/metis/seed0.json"
    change(path, cell=json.loads(path.read_text())["cell"] | {field: value})
    assert main(["gate", *map(str, sides)]) == 2
    error = capsys.readouterr().err
    assert f"{path} " in error
    assert "delete it" in error


def test_a_second_record_of_a_round_is_told(sides, capsys):
    """What lies outside a round's folder is of round 0: neither is to be left out in silence."""
    shutil.copytree(sides[1] / "smoke", sides[1] / "round0/smoke")
    assert main(["gate", *map(str, sides)]) == 2
    assert "seed0.json is a second record of round 0 of its cell" in capsys.readouterr().err


@pytest.mark.parametrize("turns", [(), ("--interleave", "smoke")])
def test_a_folder_is_not_compared_with_itself(sides, turns, capsys):
    """The head would keep the records of the base, and be as fast without having run."""
    base, head = sides
    shutil.rmtree(head)
    head.symlink_to(base)
    assert main(["gate", str(base), str(head), *turns]) == 2
    assert "cannot be compared with itself" in capsys.readouterr().err


def test_github_gets_the_summary_too(sides, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    _, text = gate(capsys, *sides)
    assert (tmp_path / "summary.md").read_text() == f"before\n{text}"


def planted(folder, times, **fields):
    """Write one record a step time below ``folder``: as seeds of one cell, from a real record."""
    for number, seconds in enumerate(times):
        path = folder / f"g/k40/2gpu/tiny/planner/seed{number}.json"
        _write(path, number, seconds, fields)


def planted_rounds(folder, times):
    """Write one record a step time below ``folder``: as rounds of one measured cell."""
    for number, seconds in enumerate(times):
        path = folder / f"round{number}/g/k40/2gpu/tiny/scotch/seed0.json"
        _write(path, 0, seconds, {"backend": "session"})


def _write(path, seed, seconds, fields):
    grid, machine, _, task, placer = path.parts[-6:-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    cell = {"grid": grid, "machine": machine, "gpus": 2, "task": task}
    record = {"format": "placebench-record-1", "cell": cell | {"placer": placer, "seed": seed}}
    record |= {"status": "ok", "backend": "simulator", "step_time": seconds} | fields
    path.write_text(json.dumps(record))


LEARNT = {"planner": {"updates": 100}}
SEEDS = [1.0, 1.01, 0.99, 1.02, 0.98]


@pytest.mark.parametrize(
    ("factor", "code", "word"),
    [(1.0, 0, "equal"), (1.015, 0, "within"), (1.1, 3, "slower"), (0.9, 0, "faster")],
)
def test_learned_cells_are_judged_over_their_seeds(tmp_path, factor, code, word, capsys):
    planted(tmp_path / "base", SEEDS, **LEARNT)
    planted(tmp_path / "head", [seconds * factor for seconds in SEEDS], **LEARNT)
    found, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert found == code
    assert f"1 {word}" in text


@pytest.mark.parametrize("learnt", ["base", "head"])
def test_seeds_of_a_placer_that_learns_on_one_side_only_are_not_held_to_equality(
    tmp_path, learnt, capsys
):
    for side, seconds in (("base", SEEDS), ("head", SEEDS[::-1])):
        planted(tmp_path / side, seconds, **(LEARNT if side == learnt else {}))
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == GREEN
    assert "1 within noise" in text


def test_other_settings_of_any_seed_are_told(tmp_path, capsys):
    planted(tmp_path / "base", SEEDS, **LEARNT)
    planted(tmp_path / "head", [seconds * 1.1 for seconds in SEEDS], **LEARNT)
    last = len(SEEDS) - 1
    change(tmp_path / f"head/g/k40/2gpu/tiny/planner/seed{last}.json", fingerprint="0123456789ab")
    assert "other settings" in gate(capsys, tmp_path / "base", tmp_path / "head")[1]


def test_scores_of_workloads_are_exact(tmp_path, capsys):
    for side in ("base", "head"):
        planted(tmp_path / side, [1.0], backend="workload")
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == GREEN


def test_a_folder_that_is_called_nearly_as_a_round_is_none(tmp_path, capsys):
    for side in ("base", "head"):
        planted_rounds(tmp_path / side, [1.0, 1.0, 1.0])
    planted_rounds(tmp_path / "other", [9.0])
    (tmp_path / "other/round0").rename(tmp_path / "base/round3_old")
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == GREEN


def test_a_gain_below_the_tolerance_is_noise(tmp_path, capsys):
    planted_rounds(tmp_path / "base", DRIFTING)
    planted_rounds(tmp_path / "head", DRIFTING * 0.99)
    found, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert found == GREEN
    assert "1 within" in text


# The medians are 5 % above and below 1, and the range of three ratios holds 1.
@pytest.mark.parametrize("head", [[1.05, 1.2, 0.9], [0.95, 0.8, 1.1]])
def test_a_change_whose_interval_holds_one_is_noise(tmp_path, head, capsys):
    planted_rounds(tmp_path / "base", [1.0, 1.0, 1.0])
    planted_rounds(tmp_path / "head", head)
    found, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert found == GREEN
    assert "1 within noise" in text


def test_three_rounds_are_enough(tmp_path, capsys):
    planted_rounds(tmp_path / "base", [1.0, 1.0, 1.0])
    planted_rounds(tmp_path / "head", [1.1, 1.1, 1.1])
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == SLOWER


def test_some_time_after_none_is_slower(tmp_path, capsys):
    planted(tmp_path / "base", [0.0])
    planted(tmp_path / "head", [1.0])
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == SLOWER


def test_the_summary_has_the_greatest_loss_first():
    losses = {"a tenth": 1.1, "twice": 2.0}
    text = summary([Verdict(name, "exact", "slower", 1.0, by, by) for name, by in losses.items()])
    assert text.index("| twice") < text.index("| a tenth")


def test_a_gain_hides_no_loss(tmp_path, capsys):
    """In rounds of one simulated cell, which should all be the same."""
    for side, times in (("base", [1.0, 1.0]), ("head", [0.5, 1.01])):
        for number, seconds in enumerate(times):
            path = tmp_path / side / f"round{number}/g/k40/2gpu/tiny/metis/seed0.json"
            _write(path, 0, seconds, {})
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == SLOWER


def test_rounds_of_one_learned_seed_are_one_seed(tmp_path, capsys):
    for side, seconds in (("base", 1.0), ("head", 1.5)):
        for number in range(5):
            path = tmp_path / side / f"round{number}/g/k40/2gpu/tiny/hdp/seed0.json"
            _write(path, 0, seconds, LEARNT)
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == NOTHING
    assert "needs 3 seeds" in text


def test_a_single_learned_seed_is_not_judged(tmp_path, capsys):
    planted(tmp_path / "base", [1.0], **LEARNT)
    planted(tmp_path / "head", [1.5], **LEARNT)
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == NOTHING
    assert "needs 3 seeds" in text


def test_a_search_under_a_clock_is_not_held_to_equality(tmp_path, capsys):
    limits = {"budget": {"evaluations": None, "seconds": 60}}
    planted(tmp_path / "base", SEEDS, **limits)
    planted(tmp_path / "head", SEEDS[::-1], **limits)
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == GREEN


def test_a_placer_that_had_nothing_judged_is_exact_under_a_clock_too(tmp_path, capsys):
    unsearched = {"budget": {"evaluations": None, "seconds": 60}, "evaluations": 0}
    planted(tmp_path / "base", [1.0], **unsearched)
    planted(tmp_path / "head", [1.001], **unsearched)
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == SLOWER
    own = {"parameters": {"seconds": 60}, "evaluations": 0}
    planted(tmp_path / "head", [1.001], **unsearched | own)
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == NOTHING


DRIFTING = np.array([1.0, 1.3, 0.9, 1.2, 1.1, 0.8, 1.0])
"""Seven rounds on a machine whose speed changes by a third."""


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.01, 0), (1.03, 3), (1.1, 3)])
def test_rounds_are_compared_one_by_one(tmp_path, factor, code, capsys):
    planted_rounds(tmp_path / "base", DRIFTING)
    planted_rounds(tmp_path / "head", DRIFTING * factor * [1.002, 0.998, 1, 1, 1.001, 0.999, 1])
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == code


@pytest.mark.parametrize("disturbed", ["base", "head"])
@pytest.mark.parametrize(("factor", "code"), [(1.0, GREEN), (1.005, GREEN), (1.1, SLOWER)])
def test_one_disturbed_run_decides_nothing(tmp_path, disturbed, factor, code, capsys):
    """As many rounds as the gate runs where nothing is said bear one run that took 30 % longer."""
    times = {"base": np.full(ROUNDS, 1.0), "head": np.full(ROUNDS, factor)}
    times[disturbed][2] *= 1.3
    for side, rounds in times.items():
        planted_rounds(tmp_path / side, rounds)
    assert gate(capsys, tmp_path / "base", tmp_path / "head")[0] == code


def test_two_jobs_are_no_measurement(tmp_path, capsys):
    planted(tmp_path / "base", [1.0], backend="session")
    planted(tmp_path / "head", [1.0], backend="session")
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == NOTHING
    assert "needs 3 interleaved rounds" in text


def test_a_lost_round_is_missing(tmp_path, capsys):
    planted_rounds(tmp_path / "base", DRIFTING)
    planted_rounds(tmp_path / "head", DRIFTING[:-1])
    code, text = gate(capsys, tmp_path / "base", tmp_path / "head")
    assert code == NOTHING
    assert "Gate: nothing measured, missing" in text
    assert "seed 0, round 6: no record" in text


def test_the_interval_of_a_ratio_holds_the_truth():
    """Over 200 draws whose ratio is 1.05, nominally 190 intervals hold it."""
    rng = np.random.default_rng(0)
    draws = [np.exp(rng.normal(0, 0.05, (2, 12))) for _ in range(200)]
    held = [i.low <= 1.05 <= i.high for i in (ratio_interval(1.05 * a, b) for a, b in draws)]
    assert 180 <= sum(held) <= 200
    assert all(math.isnan(end) for end in ratio_interval([1.0], [1.0, 2.0]))


def checkout(folder, **edits):
    """A copy of the project with edits: file of ``suite`` -> (text, replacement)."""
    for package in ("suite", "baselines", "planners", "models"):
        shutil.copytree(ROOT / package, folder / package)
    for name, (text, replacement) in edits.items():
        path = folder / f"suite/{name}.py"
        before = path.read_text()
        assert text in before
        path.write_text(before.replace(text, replacement))
    return folder


SECONDS = "self.nanoseconds / 1e9"


@pytest.fixture(scope="module")
def slower_checkout(tmp_path_factory):
    """The project with a simulator that says 1 ns more."""
    edits = {"simulator/result": (SECONDS, "(self.nanoseconds + 1) / 1e9")}
    return checkout(tmp_path_factory.mktemp("slower"), **edits)


@pytest.fixture(scope="module")
def measured_checkout(tmp_path_factory):
    """The project with step times said to be measured, and a tenth shorter."""
    edits = {"simulator/result": (SECONDS, "0.9 * self.nanoseconds / 1e9")}
    edits["bench/cell"] = ('SIMULATOR = "simulator"', 'SIMULATOR = "session"')
    return checkout(tmp_path_factory.mktemp("measured"), **edits)


def test_a_slower_measured_cell_is_measured_again(measured_checkout, tmp_path):
    grid = write_grid(tmp_path / "g.toml", {"cpu_only": 1, "gpu_only": 1})
    grid.write_text(grid.read_text().replace('"tiny"', '"a tiny one"'))
    folders = [tmp_path / "base", tmp_path / "head"]
    run = ["--interleave", f"{grid} --workers 0 --only cpu", "--rounds", 3]
    done = placebench("gate", *folders, *run, "--commit", measured_checkout)
    assert done.returncode == SLOWER, done.stderr
    assert "| measured | slower  |" in done.stdout
    assert "| +11.1 % | +11.1 % to +11.1 % | 3 |" in done.stdout
    again = sorted(tmp_path.rglob("again/**/seed0.json"))
    assert len(again) == 6


def test_what_was_found_is_told_before_what_stops_the_second_run(measured_checkout, tmp_path):
    grid = write_grid(tmp_path / "g.toml", {"cpu_only": 1})
    folders = [tmp_path / "base", tmp_path / "head"]
    folders[0].mkdir()
    (folders[0] / "again").write_text("where the second run's folder would be")
    run = ["--interleave", f"{grid} --workers 0", "--rounds", 3, "--commit", measured_checkout]
    done = placebench("gate", *folders, *run)
    assert done.returncode == 2
    assert "| measured | slower  |" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("placebench: error: bench ")


def test_a_second_run_that_disagrees_clears_a_cell():
    slower, within = (Verdict("cell", "measured", word) for word in ("slower", "within noise"))
    assert confirmed(slower, [slower]) == slower
    cleared = confirmed(slower, [within])
    assert (cleared.word, cleared.note) == ("not confirmed", "the second run: within noise")
    assert exit_code([cleared]) == GREEN
    assert confirmed(slower, [Verdict("cell", "measured", "missing")]) == slower
    assert confirmed(slower, [Verdict("other", "measured", "within noise")]) == slower


def test_two_checkouts_are_run_in_turn(slower_checkout, tmp_path):
    grid = write_grid(tmp_path / "g.toml", {"cpu_only": 1})
    folders = [tmp_path / "base", tmp_path / "head"]
    run = ["--interleave", f"{grid} --workers 0", "--rounds", 2, "--commit", slower_checkout]
    done = placebench("gate", *folders, *run)
    assert done.returncode == GREEN, done.stderr
    assert "1 faster" in done.stdout
    order = [line.split(": ")[1] for line in done.stderr.splitlines() if line.startswith("round")]
    assert order == [str(slower_checkout), str(ROOT), str(ROOT), str(slower_checkout)]
    assert len(list(tmp_path.rglob("round1/g/**/seed0.json"))) == 2

    again = placebench("gate", *folders, *run)
    assert again.returncode == 2
    assert "holds records already; remove it or name another" in again.stderr


@pytest.mark.parametrize("ends", [0, 1, 4])
def test_cells_that_failed_do_not_end_the_rounds_and_a_crash_does(tmp_path, ends, monkeypatch):
    """Of a checkout whose bench ends so; its code comes first, whatever is installed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    (tmp_path / "code/suite").mkdir(parents=True)
    (tmp_path / "code/suite/__init__.py").touch()
    program = f"import sys\nopen({str(tmp_path / 'asked')!r}, 'a').write(sys.argv[-1] + '\\n')\n"
    (tmp_path / "code/suite/cli.py").write_text(f"{program}sys.exit({ends})\n")
    side = Side(tmp_path / "code", tmp_path / "results")
    if ends > 1:
        with pytest.raises(InputError, match=f"bench smoke ended with {ends} in "):
            interleave([side], "smoke", 2)
    else:
        interleave([side], "smoke", 2)
    asked = (tmp_path / "asked").read_text().split()
    assert asked == [str(side.results / f"round{i}") for i in range(1 if ends > 1 else 2)]


@pytest.mark.parametrize(
    ("bench", "why"),
    [
        ("smoke 'quick", "check its quotes"),
        *((f"smoke --out{s}r", "leave out --output") for s in (" ", "put ", "put=")),
    ],
)
def test_arguments_that_cannot_go_to_both_sides_run_neither(tmp_path, bench, why):
    with pytest.raises(InputError, match=why):
        interleave([Side(ROOT, tmp_path / "results")], bench, 1)
    assert not (tmp_path / "results").exists()


def test_bench_arguments_are_checked_by_bench(tmp_path):
    done = placebench(
        "gate", tmp_path / "a", tmp_path / "b", "--interleave", "nothing", "--commit", ROOT
    )
    assert done.returncode == 2
    assert "no grid or table 'nothing'" in done.stderr
    assert f"bench nothing ended with 2 in {ROOT}" in done.stderr


def test_a_commit_that_is_not_there(tmp_path):
    done = placebench(
        "gate", tmp_path / "a", tmp_path / "b", "--interleave", "smoke", "--commit", "no-such"
    )
    assert done.returncode == 2
    assert "no-such is no folder and no commit" in done.stderr
    worktrees = subprocess.run(
        ["git", "-C", str(ROOT), "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert "placebench-base" not in worktrees.stdout


def test_a_folder_without_placebench_is_not_compared_with_itself(tmp_path):
    (tmp_path / "suite").mkdir()
    done = placebench(
        "gate", tmp_path / "a", tmp_path / "b", "--interleave", "smoke", "--commit", tmp_path
    )
    assert done.returncode == 2
    assert f"{tmp_path} is no checkout of placebench, it has no suite/cli.py" in done.stderr
    assert not (tmp_path / "a").exists()


def test_gpu_runners_never_run_foreign_code():
    """A self-hosted runner that pull requests reach runs whatever anyone proposes."""
    text = (ROOT / ".github/workflows/gpu.yml").read_text()
    assert "pull_request" not in text
    assert "self-hosted" in text
    commands = [line.split("run:")[1].strip() for line in text.splitlines() if "run:" in line]
    assert commands
    known = "python3 -m tox ", "python3 -m pip install -c constraints.txt tox"
    assert all(command.startswith(known) for command in commands if "tox" in command)
