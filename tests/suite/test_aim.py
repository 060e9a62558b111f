"""What planners that learn on other graphs were aimed at, from records made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_records import failed, record, write

from suite.bench.grid import planned_cells
from suite.report.build import build_table
from suite.report.load_records import load_records
from suite.report.tables._aim import first_seconds, last_seconds, verdict

FIRST = "from its first placement on faster than METIS"
LATER = "in the end as fast as annealing after 1,000"


def rows(folder: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """Aim and planner -> placements, seeds, gain, faster on, how many graphs each way, verdict."""
    sections = build_table("transfer", folder).sections
    section = next(one for one in sections if one.title == "What was aimed at")
    return {row[:2]: row[3:] for row in section.rows}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[str, ...]]:
    """On the last graph of either grid it goes otherwise than on the others."""
    folder = tmp_path_factory.mktemp("results")
    for grid in ("transfer", "learned_moves"):
        cells = {cell.task: cell for cell in planned_cells(grid)}
        for i, (task, cell) in enumerate(cells.items()):
            last = i == len(cells) - 1
            for seed in range(5):
                apart = 0.01 * seed
                # On the last graph it is slower from scratch, or does not fit.
                shot = {"status": "oom", "oom": ["gpu:0"]} if last else {}
                start = [[2 if last else 1, 0.1, 0.8], [50, 0.2, 0.55 + apart]]
                for placer, seconds, more in (
                    ("metis", 1.0 + apart, {}),
                    ("annealing_1000", 0.5 + apart, {}),
                    ("placeto_zero_shot", 0.9 + apart, shot),
                    ("placeto_fine_tuned", 0.51 + apart, {"evaluations": 50}),
                    ("best_estimate", 0.9 + apart, {}),
                    ("estimated_moves_100", 0.2, {"history": start, "evaluations": 100}),
                ):
                    named = {"task": task, "gpus": cell.gpus, "placer": placer, "seed": seed}
                    whole = {"grid": grid, "machine": cell.machine, **named}
                    write(folder, record("nmt_2", placer, seconds, cell=whole, **more))
    return rows(folder)


def test_an_aim_holds_where_it_does_on_every_graph(
    found: dict[tuple[str, str], tuple[str, ...]],
) -> None:
    """A gain of 1.02 / 0.92 - 1 on each, the slowest of ours ahead of the fastest of METIS."""
    assert found[FIRST, "best estimate"] == (
        *("1", "5 and 5", "10.9 % [10.9 to 10.9; 98%]", "7 of 7", "7 / 0 / 0", "holds"),
    )
    assert found[LATER, "estimated moves"][-2:] == ("7 / 0 / 0", "holds")


def test_one_graph_is_enough_against_it(found: dict[tuple[str, str], tuple[str, ...]]) -> None:
    assert found[FIRST, "Placeto, zero-shot"] == (
        *("1", "5 and 5", "10.9 % [-100.0 to 10.9; 88%]", "3 of 4", "3 / 1 / 0", "does not hold"),
    )
    # Its first placement did not fit there; that its second was fast does not count.
    assert found[FIRST, "estimated moves"][-3:] == ("6 of 7", "6 / 1 / 0", "does not hold")


def test_what_seeds_do_not_tell_apart_is_undecided(
    found: dict[tuple[str, str], tuple[str, ...]],
) -> None:
    row = found[LATER, "Placeto, after training"]
    assert (row[0], *row[-3:]) == ("50", "0 of 4", "0 / 0 / 4", "undecided")


def test_seeds_are_the_fewest_of_any_graph_and_none_that_failed(tmp_path: Path) -> None:
    """As placements are the most of any search: one may have found nothing more to try."""
    cells = {cell.task: cell for cell in planned_cells("learned_moves")}
    for few, task in enumerate(list(cells)[:2]):
        whole = {"grid": "learned_moves", "machine": cells[task].machine, "task": task}
        whole |= {"gpus": cells[task].gpus}
        for placer, seeds in (("annealing_1000", 5), ("estimated_moves_100", 4 - few)):
            for seed in range(seeds):
                cell = whole | {"placer": placer, "seed": seed}
                spent = {"cell": cell, "evaluations": 100 - 40 * few}
                write(tmp_path, record("nmt_2", placer, 0.5, **spent))
        cell = whole | {"placer": "estimated_moves_100", "seed": 4}
        write(tmp_path, failed("nmt_2", "estimated_moves_100", "error", "why") | {"cell": cell})
    assert rows(tmp_path)[LATER, "estimated moves"][:2] == ("100", "3 and 5")


def test_what_has_no_record_is_missing(
    found: dict[tuple[str, str], tuple[str, ...]],
) -> None:
    assert found[FIRST, "learned moves"] == (
        *("1", "missing", "missing", "missing", "0 / 0 / 0", "missing"),
    )


@pytest.mark.parametrize(
    ("graphs", "whole"),
    [
        (["holds", "missing"], "missing"),
        (["does not hold", "missing"], "does not hold"),
        (["holds", "undecided"], "undecided"),
        ([], "missing"),
    ],
)
def test_a_verdict_waits_for_records_that_could_turn_it(graphs: list[str], whole: str) -> None:
    assert verdict(graphs) == whole


def test_the_first_placement_of_a_search_and_of_one_that_evaluates_nothing(tmp_path: Path) -> None:
    curve = [[1, 0.1, 0.7], [9, 0.2, 0.3]]
    write(tmp_path, record("nmt_2", "a", 0.3, history=curve))
    write(tmp_path, record("nmt_2", "b", 0.4))
    records = load_records(tmp_path).sort_values("placer")
    assert first_seconds(records) == (0.7, 0.4)
    assert last_seconds(records) == (0.3, 0.4)
