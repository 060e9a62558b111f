"""The table of what searches cost, from records made by hand."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.table import Table


def search(
    placer: str, seconds: tuple[float, float], evaluations: int, seed: int = 0, **more: Any
) -> dict[str, Any]:
    """A record of a search on nmt_2; ``seconds`` are wall-clock and CPU."""
    wall, cpu = seconds
    spent = {"wall_seconds": wall, "cpu_seconds": cpu, "evaluations": evaluations}
    return record("nmt_2", placer, 0.5, seed, **spent, **more)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("results")
    of_post = {"grid": "post", "planner": {"updates": 400}}
    write(folder, search("post", (8.0, 4.0), 4000, 0, **of_post))
    write(folder, search("post", (6.0, 5.0), 4000, 1, **of_post))
    # Of two grids; the one with fewer evaluations takes longer for each.
    write(folder, search("hdp", (90.0, 80.0), 1000, grid="reference", planner={"updates": 250}))
    write(folder, search("hdp", (240.0, 200.0), 4000, grid="paper", planner={"updates": 1000}))
    # Its second search failed and says no cost that counts.
    episodes = {"grid": "placeto", "planner": {"episodes": 200}}
    write(folder, search("placeto", (80.0, 60.0), 20000, **episodes))
    write(folder, search("placeto", (0.1, 0.1), 20000, 1, **episodes, status="error"))
    write(folder, search("annealing", (4.0, 2.0), 4000, grid="equal_evaluations", planner={}))
    # One that did not get as far as a placement has no cost of one.
    write(folder, search("annealing", (9.0, 9.0), 0, 1, grid="equal_evaluations", status="oom"))
    # A short search of a grid that is not read, and a placer that is not shown.
    write(folder, search("post", (0.01, 0.01), 250, grid="quick", planner={"updates": 25}))
    write(folder, search("restarts", (0.01, 0.01), 1000, grid="equal_evaluations"))
    return build_table("planner_costs", folder)


def rows(made: Table, title: str) -> dict[str, tuple[str, ...]]:
    """First cell -> the others, of the section that begins so."""
    [section] = [one for one in made.sections if one.title.startswith(title)]
    return {row[0]: row[1:] for row in section.rows}


def test_each_figure_is_the_least_of_its_records(made: Table) -> None:
    found = rows(made, "Every planner")
    # 6 s and 4 s: of different seeds.
    post = ("k40", "nmt_2", "2", "2", "4,000", "400", "1.5", "1", "0.015", "0.01")
    assert found["Post"] == post
    hdp = ("k40", "nmt_2", "2", "2", "1,000 to 4,000", "250 to 1,000", "60", "50", "0.24", "0.2")
    assert found["HDP"] == hdp


def test_an_episode_is_an_update_and_a_failure_costs_nothing(made: Table) -> None:
    placeto = rows(made, "Every planner")["Placeto"]
    assert placeto == ("k40", "nmt_2", "2", "1", "20,000", "200", "4", "3", "0.4", "0.3")


def test_what_has_no_updates_has_no_seconds_of_one(made: Table) -> None:
    annealing = rows(made, "Every planner")["annealing"]
    assert annealing == ("k40", "nmt_2", "2", "1", "4,000", "-", "1", "0.5", "-", "-")
    last = made.data.iloc[-1]
    assert last["planner"] == "annealing"
    assert last["most_updates"] == 0
    assert isnan(last["wall_per_update"])


def test_planners_of_a_machine_stand_beside_each_other(made: Table) -> None:
    [section] = [one for one in made.sections if "machine" in one.title]
    assert section.header == ("task", "#GPUs", "Post", "Placeto", "HDP", "annealing")
    assert section.rows == (("nmt_2", "2", "1.5 / 1", "4 / 3", "60 / 50", "1 / 0.5"),)


def test_tasks_are_summed_up_from_the_cheapest_to_the_dearest(tmp_path: Path) -> None:
    spent = {"evaluations": 1000, "planner": {"updates": 100}, "grid": "equal_evaluations"}
    for task, wall in (("nmt_2", 200.0), ("nmt_4", 20.0), ("nmt_8", 1234.0)):
        costs = {"wall_seconds": wall, "cpu_seconds": wall / 2}
        write(tmp_path, record(task, "gdp_tuned", 0.5, **costs, **spent))
    found = rows(build_table("planner_costs", tmp_path), "Planner by planner")
    cells = ("3", "20 to 1,234", "10 to 617", "0.2 to 12.3", "0.1 to 6.17")
    assert found == {"GDP, tuned": cells}


def test_without_records_there_is_nothing_to_write(tmp_path: Path) -> None:
    write(tmp_path, search("post", (1.0, 1.0), 250, grid="quick"))
    assert build_table("planner_costs", tmp_path).found == 0
