"""The table of learned moves, from records made by hand."""

from __future__ import annotations

from math import inf, isnan, nan

import pytest
from suite_records import record, write

from suite.bench.grid import load_grid
from suite.report.build import build_table
from suite.report.until import median_until


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("results")
    [cell] = {
        (job.cell.machine, job.cell.gpus)
        for job in load_grid("learned_moves").jobs
        if job.cell.task == "nmt_4"
    }
    grid = {"grid": "learned_moves", "machine": cell[0]}
    write(folder, record("nmt_4", "metis", 0.5, **grid))
    for seed, seconds in enumerate((3.0, 2.0, 4.0)):
        write(folder, record("nmt_4", "random", seconds, seed, **grid))
    for seed, (annealed, learned) in enumerate([(0.4, 0.3), (0.42, 0.41), (0.44, 0.32)]):
        slow = [[1, 0.1, 0.6], [20 + seed, 0.2, 0.5], [900, 0.3, annealed]]
        fast = [[1, 0.1, 0.6], [10, 0.2, 0.45], [300 + seed, 0.3, learned]]
        write(folder, record("nmt_4", "annealing_1000", annealed, seed, history=slow, **grid))
        write(folder, record("nmt_4", "learned_moves_1000", learned, seed, history=fast, **grid))
    short = [[1, 0.1, 0.49], [7, 0.2, 0.41]]
    write(folder, record("nmt_4", "estimated_moves_100", 0.41, history=short, **grid))
    return build_table("learned_moves", folder).markdown()


def row(text: str, section: str, start: str) -> list[str]:
    text = text.split(f"## {section}")[1].split("\n## ")[0]
    [line] = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_placements_are_counted_until_a_step_is_as_fast(text: str) -> None:
    # METIS takes 0.5; nobody has asked an expert; the median of annealing is 0.42.
    cells = row(text, "Placements evaluated", "nmt_4")
    assert cells == ["21", "10", "1", "missing", "missing", "missing", "900", "301", "7"]


@pytest.mark.parametrize(
    ("reached", "half"), [([5], 5), ([5, 9], 5), ([5, 9, 7], 7), ([None, 9], 9), ([None] * 3, inf)]
)
def test_half_of_the_searches_decide_also_where_their_number_is_even(
    reached: list[int | None], half: float
) -> None:
    histories = [[(1, 0.1, 0.6), *([(at, 0.2, 0.5)] if at else [])] for at in reached]
    assert median_until(histories, 0.5) == half
    assert isnan(median_until(histories, nan))


def test_graphs_are_counted_on_which_the_learned_moves_are_faster(text: str) -> None:
    assert row(text, "Faster on so many graphs", "annealing, 1,000")[-1] == "1 of 1"


def test_random_placements_are_beside_the_others(text: str) -> None:
    assert row(text, "Step time", "random")[2] == "3 [2-4, n=3]"
    assert row(text, "Faster on so many graphs", "random")[-1] == "1 of 1"
