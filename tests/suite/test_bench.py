"""placebench bench in real processes: nothing finished is lost, nothing is done twice."""

import json
import os
import shlex
import signal
from pathlib import Path

import pytest
from command_line import (
    SMOKE_GRAPH,
    children,
    inside,
    placebench,
    records,
    start,
    wait_until,
    write_grid,
)

from suite.bench.record import deterministic_part
from suite.bench.run_cell import NOT_BOUNDED


@pytest.fixture(autouse=True, scope="module")
def compiled(tmp_path_factory):
    """Compile the simulator before time limits count."""
    assert placebench("bench", "smoke", "--output", tmp_path_factory.mktemp("warm")).returncode == 0


EXITS = "Exits.place fails: SystemExit: 0 (awkward.py:"


def written(results):
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in results.rglob("seed*.*")}


def test_a_killed_run_loses_only_what_was_in_flight(tmp_path):
    grid, results = write_grid(tmp_path / "g.toml", {"slow": 12}), tmp_path / "results"
    run = start("bench", grid, "--output", results, "--workers", 2)
    wait_until(lambda: len(list(results.rglob("seed*.json"))) >= 4)
    workers = children(run.pid)
    run.kill()
    run.wait()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    before = written(results)
    whole = records(results)
    assert 4 <= len(whole) < 12

    again = placebench("bench", grid, "--output", results, "--workers", 2)
    assert again.returncode == 0, again.stderr
    assert f"12 cells, {len(whole)} finished, {12 - len(whole)} to run" in again.stdout
    after = written(results)
    # A record is written before its bound is computed; the next run adds what a kill cut off.
    finished = [name for name, record in whole.items() if record["bound_kind"] != NOT_BOUNDED]
    for path in (results / f"g/k40/2gpu/tiny/{name}.json" for name in finished):
        assert after[path] == before[path]
    assert len(finished) >= 2  # two workers, so that two at most are cut off there
    assert len(records(results)) == 12

    third = placebench("bench", grid, "--output", results)
    assert "12 cells, 12 finished, 0 to run" in third.stdout
    assert written(results) == after


@pytest.fixture(params=["interrupts reach the tests", "the tests ignore interrupts"])
def _ignored(request):
    """As under a shell, and as in a script's background."""
    before = signal.getsignal(signal.SIGINT)
    if "ignore" in request.param:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_ignored")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_tidy(tmp_path, number, code):
    grid, results = write_grid(tmp_path / "g.toml", {"slow": 50}), tmp_path / "results"
    run = start("bench", grid, "--output", results, "--workers", 1)
    wait_until(lambda: records(results))
    workers = children(run.pid)
    run.send_signal(number)
    assert run.wait(20) == code
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def test_every_outcome_is_a_record_and_the_rest_goes_on(tmp_path):
    placers = ["killed", "leaves", "exits", "raises", "declines", "nowhere", "empty", "hangs"]
    grid = write_grid(tmp_path / "g.toml", dict.fromkeys([*placers, "gpu_only"], 1), timeout=20)
    results = tmp_path / "results"
    run = placebench("bench", grid, "--output", results, "--workers", 2)
    assert run.returncode == 1
    outcome = {n.split("/")[0]: (r["status"], r["reason"]) for n, r in records(results).items()}
    words = "AttributeError: 'str' object has no attribute 'devices' (awkward.py:"
    assert outcome.pop("raises")[1].startswith(words)
    exits, why = outcome.pop("exits")
    assert (exits, why.startswith(EXITS)) == ("invalid", True)
    assert outcome == {
        "killed": ("error", "the worker process died of SIGSEGV"),
        "leaves": ("error", "the worker process ended with exit code 3"),
        "declines": ("skipped", "not today"),
        "nowhere": (
            "invalid",
            "operation 'variable' is on device 99, but k40 has devices 0..2",
        ),
        "empty": (
            "invalid",
            "Empty.place returned NoneType; let it return a Placement (suite.Placement.of), also"
            " where nothing that it evaluated fits and search.best is None",
        ),
        "hangs": ("timeout", "no answer after 20 seconds"),
        "gpu_only": ("ok", ""),
    }
    assert "g: 3 error, 3 invalid, 1 ok, 1 skipped, 1 timeout" in run.stdout
    assert not any(b"6543" in command(p) for p in Path("/proc").glob("[0-9]*/cmdline"))

    again = placebench("bench", grid, "--output", results, "--only", "raises")
    assert "1 to run (1 ended in an error or a time-out)" in again.stdout


def test_a_placer_that_lets_its_budgets_end_pass_is_told_to_return_the_best(tmp_path):
    grid = write_grid(tmp_path / "g.toml", {"endless": 1})
    grid.write_text(grid.read_text().replace("[budget]", "[budget]\nevaluations = 3"))
    placebench("bench", grid, "--output", tmp_path / "r", "--workers", 0)
    (record,) = records(tmp_path / "r").values()
    told = "3 placements evaluated; let Endless.place catch BudgetExhausted and return search.best"
    assert record["status"] == "error"
    assert record["reason"].startswith(f"BudgetExhausted: {told} (awkward.py:")


def test_a_placer_that_would_end_the_program_ends_its_cell_alone(tmp_path):
    """Without processes for the cells, too, and in place; a script would take 0 for success."""
    grid = write_grid(tmp_path / "g.toml", {"exits": 1, "gpu_only": 1})
    run = placebench("bench", grid, "--output", tmp_path / "r", "--workers", 0)
    assert "g: 1 invalid, 1 ok" in run.stdout
    asked = ["--graph", SMOKE_GRAPH, "--machine", "k40", "--gpus", 2, "--placer", "exits"]
    run = placebench("place", *asked)
    assert run.returncode == 2
    assert run.stderr.startswith(f"placebench: error: {EXITS}")


def command(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_damaged_and_outdated_records_are_made_again(tmp_path):
    results = tmp_path / "results"
    grid = write_grid(tmp_path / "g.toml", {"random": 3})
    inside("bench", grid, "--output", results, "--workers", 0)
    good = records(results)
    path = results / "g/k40/2gpu/tiny/random/seed1.json"
    path.write_bytes(path.read_bytes()[:200])
    again = inside("bench", grid, "--output", results, "--workers", 0)
    assert "3 cells, 2 finished, 1 to run (1 not whole)" in again.stdout
    restored = records(results)
    assert {n: deterministic_part(r) for n, r in restored.items()} == {
        n: deterministic_part(r) for n, r in good.items()
    }
    other = inside("bench", grid, "--output", results, "--workers", 0, "--seed", 1)
    assert "0 finished, 3 to run (3 recorded under other settings)" in other.stdout
    assert (
        records(results)["random/seed0"]["placement_hash"] != good["random/seed0"]["placement_hash"]
    )


def test_the_same_settings_give_the_same_records(tmp_path):
    runs = []
    for run, name, workers in ((placebench, "one", 1), (placebench, "two", 2), (inside, "here", 0)):
        done = run("bench", "smoke", "--output", tmp_path / name, "--workers", workers)
        assert done.returncode == 0, done.stderr
        runs.append({n: deterministic_part(r) for n, r in records(tmp_path / name).items()})
    assert runs[0] == runs[1] == runs[2]
    assert {r["status"] for r in runs[0].values()} == {"ok", "skipped"}
    assert len({r["placement_hash"] for n, r in runs[0].items() if n.startswith("random")}) == 2


def test_the_command_that_makes_its_tables_comes_last(tmp_path):
    done = inside("bench", "smoke", "--output", tmp_path / "my runs", "--only", "random/seed0")
    named, _, command = done.stdout.splitlines()[-1].partition(": ")
    assert named == "its tables"
    program, *words = shlex.split(command)
    assert program == "placebench"
    assert inside(*words).returncode == 0
    assert "tiny" in (tmp_path / "my runs/reports/other_grids.md").read_text()


def test_verify_finds_what_was_tampered_with(tmp_path):
    results = tmp_path / "results"
    inside("bench", "smoke", "--output", results, "--workers", 0, "--only", "random")
    checked = inside("verify", results)
    assert (checked.returncode, checked.stdout) == (0, "3 records checked, 0 differ\n")
    folder = results / "smoke/k40/2gpu/tiny"
    faster, emptier = folder / "random/seed0.json", folder / "random/seed1.json"
    swapped = folder / "best_of_random/seed0.npz"
    record = json.loads(faster.read_text())
    record["step_time"] = record["step_time"] * (1 - 1e-9)
    faster.write_text(json.dumps(record))
    record = json.loads(emptier.read_text())
    record["peak_memory"]["gpu:0"] -= 1
    emptier.write_text(json.dumps(record))
    swapped.write_bytes((folder / "random/seed0.npz").read_bytes())
    checked = inside("verify", results / "smoke")
    assert checked.returncode == 1
    assert f"{faster}: step_time is " in checked.stdout
    assert f"{emptier}: simulated again, peak_memory differ" in checked.stdout
    assert (
        "best_of_random/seed0.json: the placement beside it is not the recorded" in checked.stdout
    )
    assert "3 records checked, 3 differ" in checked.stdout
    os.truncate(faster, 100)
    assert inside("verify", faster).stdout.startswith(f"{faster} is not whole JSON")


def test_verify_counts_the_records_of_other_code(tmp_path):
    results = tmp_path / "results"
    inside("bench", "smoke", "--output", results, "--workers", 0, "--only", "random")
    older = results / "smoke/k40/2gpu/tiny/random/seed1.json"
    record = json.loads(older.read_text())
    record["code"]["digest"] = "0" * 16
    older.write_text(json.dumps(record))
    checked = inside("verify", results)
    assert checked.returncode == 0  # what it says is still what the simulator says
    first, second = checked.stdout.splitlines()
    assert first == "3 records checked, 0 differ"
    assert second.startswith("1 made by other code than today's (1 of smoke): the next bench")
    inside("bench", "smoke", "--output", results, "--workers", 0, "--only", "random")
    assert inside("verify", results).stdout == "3 records checked, 0 differ\n"


def test_verify_goes_where_a_grids_folder_is_a_link(tmp_path):
    results, elsewhere = tmp_path / "results", tmp_path / "disk" / "smoke"
    inside("bench", "smoke", "--output", results, "--workers", 0, "--only", "random")
    elsewhere.parent.mkdir()
    (results / "smoke").rename(elsewhere)
    (results / "smoke").symlink_to(elsewhere)
    for folder in (results, results / "smoke", tmp_path / "disk"):
        assert inside("verify", folder).stdout == "3 records checked, 0 differ\n"
