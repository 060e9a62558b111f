"""placebench verify --replay: today's code, tried on what older code recorded."""

import json

import pytest
from command_line import write_grid

from suite.bench.record import read_record
from suite.cli import main

pytestmark = pytest.mark.usefixtures("plugin")


def made(tmp_path, placer, budget="", parameters="{}"):
    """The record of one cell, and its file."""
    grid = write_grid(tmp_path / "g.toml", {placer: 1}, parameters=parameters)
    grid.write_text(grid.read_text().replace("[budget]", f"[budget]\n{budget}"))
    assert main(["bench", str(grid), "--output", str(tmp_path / "r"), "--workers", "0"]) == 0
    (path,) = (tmp_path / "r").rglob("seed*.json")
    return path, read_record(path)


def edit(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def replayed(path, evaluations=50):
    return main(["verify", str(path), "--replay", str(evaluations)])


def test_a_search_that_agrees_is_stamped_and_finished_from_then_on(tmp_path, capsys):
    path, whole = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    edit(path, code=None)
    assert replayed(path, 25) == 0
    assert "1 record replayed and stamped, 0 of today's code, 0 left" in capsys.readouterr().out
    again = read_record(path)
    assert again["code"] == whole["code"] | {"replayed": "the first 25 evaluations"}
    assert again | {"code": whole["code"]} == whole
    assert replayed(path) == 0
    assert "0 records replayed and stamped, 1 of today's code, 0 left" in capsys.readouterr().out
    grid = str(tmp_path / "g.toml")
    assert main(["bench", grid, "--output", str(tmp_path / "r"), "--workers", "0"]) == 0
    assert "1 cells, 1 finished, 0 to run" in capsys.readouterr().out


def test_a_search_of_which_nothing_was_run_again_is_not_stamped(tmp_path, capsys):
    path, _ = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    edit(path, code=None)
    assert replayed(path, 0) == 1
    assert "nothing was run again; give --replay 1 or more" in capsys.readouterr().out
    assert read_record(path)["code"] is None


def test_a_search_that_finds_more_improvements_is_left(tmp_path, capsys):
    path, whole = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    edit(path, code=None, history=whole["history"][:-1])
    assert replayed(path, 1000) == 1
    n = len(whole["history"])
    assert f"{n} improvements in " in (said := capsys.readouterr().out)
    assert f"recorded {n - 1}" in said


def test_a_search_that_finds_fewer_improvements_is_left(tmp_path, capsys):
    path, whole = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    edit(path, code=None, history=[*whole["history"], [whole["evaluations"], 1.0, 0.0]])
    assert replayed(path, 1000) == 1
    assert f"recorded {len(whole['history']) + 1}" in capsys.readouterr().out


def test_a_search_that_takes_more_evaluations_is_left(tmp_path, capsys):
    path, whole = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    edit(path, code=None, evaluations=whole["evaluations"] + 1)
    assert replayed(path, 1000) == 1
    assert f"recorded {whole['evaluations'] + 1}" in capsys.readouterr().out


def test_a_search_that_finds_other_times_is_left(tmp_path, capsys):
    path, whole = made(tmp_path, "mutation", parameters="{ updates = 60 }")
    (first, seconds, best), *rest = whole["history"]
    assert len(rest) > 0
    edit(path, code=None, history=[[first, seconds, best * 1.5], *rest])
    assert replayed(path) == 1
    assert f"the best is {best:.9g} s at evaluation {first}, recorded" in capsys.readouterr().out
    edit(path, history=rest)
    assert replayed(path) == 1
    assert read_record(path)["code"] is None


def test_a_placer_that_does_not_search_is_compared_by_its_placement(tmp_path, capsys):
    path, _ = made(tmp_path, "random")
    edit(path, code={"digest": "older"})
    assert replayed(path, 0) == 0
    assert read_record(path)["code"]["replayed"] == "the whole run"
    edit(path, code={"digest": "older"}, base_seed=1)
    assert replayed(path, 0) == 1
    assert "recorded under other settings" in capsys.readouterr().out


def test_a_step_time_that_is_not_simulated_again_is_told(tmp_path, capsys):
    path, whole = made(tmp_path, "random")
    edit(path, code={"digest": "older"}, step_time=2 * whole["step_time"])
    assert replayed(path, 0) == 1
    assert "step_time is " in capsys.readouterr().out
    assert read_record(path)["code"] == {"digest": "older"}


def test_another_placement_is_told(tmp_path, capsys, monkeypatch):
    path, _ = made(tmp_path, "random")
    edit(path, code={"digest": "older"})
    monkeypatch.setattr("suite.bench.cell.Cell.derived_seed", lambda self, base: 5)
    assert replayed(path, 0) == 1
    assert " operations are elsewhere" in capsys.readouterr().out
    assert read_record(path)["code"] == {"digest": "older"}


def test_a_search_bound_by_seconds_is_left_and_told(tmp_path, capsys):
    path, _ = made(tmp_path, "mutation", "seconds = 60", "{ updates = 5 }")
    edit(path, code=None)
    assert replayed(path) == 1
    assert "bound by 60 seconds: it cannot be replayed" in capsys.readouterr().out


def test_a_cell_that_was_skipped_is_tried_again(tmp_path, capsys):
    path, whole = made(tmp_path, "declines")
    edit(path, code={"digest": "older"})
    assert replayed(path) == 0
    assert read_record(path)["code"]["digest"] == whole["code"]["digest"]
    edit(path, code={"digest": "older"}, reason="another")
    assert replayed(path) == 1
    assert "recorded skipped, but now: not today" in capsys.readouterr().out


def test_a_cell_that_was_skipped_and_now_gives_a_placement_is_left(tmp_path, capsys):
    path, _ = made(tmp_path, "random")
    edit(path, code={"digest": "older"}, status="skipped", reason="not today")
    assert replayed(path) == 1
    assert "recorded as skipped, but now it gives a placement" in capsys.readouterr().out
    assert read_record(path)["code"] == {"digest": "older"}


def test_what_a_placer_asks_of_others_ends_as_well(tmp_path, capsys):
    given = '{ runs = 2, placer = "best_of_random", options = { k = [40] } }'
    path, whole = made(tmp_path, "restarts", "evaluations = 100", given)
    assert whole["evaluations"] > 50
    edit(path, code=None)
    assert replayed(path, 5) == 0
    assert "1 record replayed and stamped" in capsys.readouterr().out
    told = read_record(path)["code"]["replayed"]
    assert int(told.split()[2]) < 50, told
