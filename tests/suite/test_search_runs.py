"""Searches in real processes: killed and resumed, shown on a terminal and in a file."""

import csv
import os
import pty
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from command_line import (
    COMMAND,
    ENVIRONMENT,
    PLUGIN,
    SMOKE_GRAPH,
    children,
    placebench,
    records,
    start,
    wait_until,
    write_grid,
)

from suite.bench.record import deterministic_part
from suite.cli import main

CELL = "g/k40/2gpu/tiny/mutation/seed0"


def grid(folder, steps, seconds):
    parameters = f"{{ updates = {steps}, seconds = {seconds} }}"
    return write_grid(folder / "g.toml", {"mutation": 1}, parameters=parameters)


def rows(results):
    with (results / f"{CELL}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def logged(results):
    """Lines of the log, header included, while it is written."""
    path = results / f"{CELL}.csv"
    return len(path.read_text().splitlines()) if path.exists() else 0


def kill_after(lines, path, results):
    """Start a run and kill it, and see its worker die, when the log has that many lines."""
    run = start("bench", path, "--output", results, "--workers", 1, "--checkpoint", 0)
    wait_until(lambda: logged(results) >= lines)
    workers = children(run.pid)
    run.kill()
    run.wait()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


def test_a_killed_run_goes_on_in_the_middle_of_a_search(tmp_path):
    path, parts, whole = grid(tmp_path, 60, 0.05), tmp_path / "parts", tmp_path / "whole"
    kill_after(10, path, parts)
    before = rows(parts)
    kill_after(len(before) + 8, path, parts)
    assert (parts / f"{CELL}.checkpoint.npz").exists()
    assert not records(parts)

    done = placebench("bench", path, "--output", parts, "--workers", 1)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not (parts / f"{CELL}.checkpoint.npz").exists()
    assert [int(row["step"]) for row in rows(parts)] == list(range(1, 61))
    assert rows(parts)[: len(before) - 1] == before[:-1]

    placebench("bench", path, "--output", whole, "--workers", 1)
    one, other = (records(folder)["mutation/seed0"] for folder in (parts, whole))
    assert deterministic_part(one) == deterministic_part(other)
    assert one["evaluations"] == 60
    assert one["planner"]["kept"] > 0
    assert one["wall_seconds"] > 60 * 0.05
    with np.load(parts / f"{CELL}.npz") as a, np.load(whole / f"{CELL}.npz") as b:
        assert a["devices"].tolist() == b["devices"].tolist()


def on_a_terminal(*arguments):
    """What a run shows on a terminal, escapes and all."""
    terminal, its_end = pty.openpty()
    command = [*COMMAND, *(str(a) for a in arguments)]
    environment = ENVIRONMENT | {"TERM": "xterm", "COLUMNS": "150", "LINES": "40"}
    with subprocess.Popen(command, env=environment, stdout=its_end, stderr=its_end) as run:
        os.close(its_end)
        shown = read_all(terminal)
        assert run.wait(60) == 0
    return shown


def test_bench_shows_searches_on_a_terminal(tmp_path):
    options = ["--output", tmp_path / "r", "--workers", 1]
    shown = on_a_terminal("bench", grid(tmp_path, 60, 0.05), *options)
    assert f"{CELL} update " in shown
    assert re.search(r"update \d+ of 60,", shown)
    assert " placements/s" in shown
    assert "entropy 0." in shown
    assert "1/1" in shown


def test_place_shows_its_search_on_a_terminal():
    options = ["--gpus", 2, "--set", "updates=20", "--set", "seconds=0.05", "--evaluations", 30]
    shown = on_a_terminal(
        "place", SMOKE_GRAPH, "--machine", "k40", "--placer", "mutation", *options
    )
    assert "mutation update " in shown
    assert re.search(r"update \d+ of 20,", shown)
    assert " s left" in shown
    assert "step time" in shown


def read_all(terminal):
    """What a program writes to a terminal until it leaves."""
    content = b""
    while True:
        try:
            content += os.read(terminal, 4096)
        except OSError:
            os.close(terminal)
            return content.decode()


@pytest.fixture
def _often(monkeypatch):
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setattr("suite.commands._display.EVERY", 0.0)
    from suite.search.registry import placers

    placers.cache_clear()
    yield
    placers.cache_clear()


@pytest.mark.usefixtures("_often")
def test_elsewhere_a_search_prints_plain_lines(tmp_path, capsys):
    path = grid(tmp_path, 5, 0.0)
    assert main(["bench", str(path), "--output", str(tmp_path / "r"), "--workers", "0"]) == 0
    lines = [x for x in capsys.readouterr().out.splitlines() if x.startswith(f"{CELL} ")]
    assert [x.split()[1:3] for x in lines[:-1]] == [["update", f"{i}"] for i in range(1, 6)]
    assert all(" of 5," in x for x in lines[:-1])
    assert " to place" in lines[-1]


def test_plain_lines_are_rare(tmp_path):
    done = placebench("bench", grid(tmp_path, 20, 0.0), "--output", tmp_path / "r")
    assert "update" not in done.stdout


def test_event_files_where_asked_for(tmp_path):
    pytest.importorskip("tensorflow")
    path, board = grid(tmp_path, 5, 0.0), tmp_path / "board"
    done = placebench("bench", path, "--output", tmp_path / "r", "--tensorboard", board)
    assert done.returncode == 0, done.stderr
    (events,) = (board / CELL).iterdir()
    assert events.stat().st_size > 300
