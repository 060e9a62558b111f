"""The table of Post's claims, from records made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.load_records import load_records
from suite.report.post import (
    UNDECIDED,
    Duel,
    Found,
    Searches,
    Task,
    best_at,
    own_cells,
    planned,
    tasks,
)
from suite.report.table import Section, Table

LATE = 3000
"""The placement after which the hand-made searches improve once more."""


NMT_2 = Task("nmt_2", 2)


def search(
    folder: Path,
    placer: str,
    seed: int,
    early: float,
    late: float,
    grid: str = "post",
    task: Task = NMT_2,
) -> None:
    """Record a search that has ``early`` at its tenth placement and ``late`` at LATE."""
    history = [[10, 0.1, early], [LATE, 9.0, late]]
    total = 1000 if grid == "reference" else 4000
    more = {"history": history[: 1 if total < LATE else 2], "evaluations": total}
    write(folder, record(task.name, placer, late, seed, grid=grid, **more))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("results")
    for seed in range(10):
        step = 0.01 * seed
        search(folder, "post", seed, 1.0 + step, 0.995 * (1.0 + step))
        search(folder, "post_ce", seed, 2.0 + step, 0.5)
        search(folder, "post_ppo", seed, 1.005 + step, 1.0)
        search(folder, "post_pg", seed, 0.5 + step, 0.5)
    for seed in range(3):
        search(folder, "hdp", seed, 4.0, 4.0, "reference")
        search(folder, "colocrl", seed, 3.0, 3.0, "reference")
    search(folder, "hdp", 0, 0.1, 0.1, "paper")
    nothing = {"status": "oom", "history": [], "evaluations": 4000}
    write(folder, record("nmt_2", "post_tuned", None, grid="post", **nothing))
    return build_table("post_claims", folder)


def section(table: Table, title: str) -> Section:
    [found] = [one for one in table.sections if one.title == title]
    return found


def row(table: Table, title: str, task: str = "nmt_2") -> tuple[str, ...]:
    return next(line for line in section(table, title).rows if line[0] == task)


def test_a_curve_tells_the_best_of_fewer_placements() -> None:
    history = [(3, 0.1, 4.0), (500, 1.0, 2.0), (501, 1.1, 1.0)]
    assert [best_at(history, n) for n in (2, 499, 500, 4000)] == [float("inf"), 4.0, 2.0, 1.0]


def test_disjoint_searches_decide_and_mixed_ones_do_not(table: Table) -> None:
    early, late = (row(table, "Post against cross-entropy alone")[i] for i in (2, 5))
    assert early.startswith("x0.511 [")
    assert early.endswith("n=10 and 10: holds")
    assert late.endswith("n=10 and 10: does not hold")
    assert row(table, "Post against PPO alone")[2].endswith(": undecided")
    assert row(table, "Post against policy gradient")[2].endswith(": does not hold")


def test_so_few_searches_that_there_is_only_a_range_decide_nothing() -> None:
    """Two a side leave the ratio between 1 / 2.1 and 1.1 / 2, all below one."""
    assert Duel(Found((1.0, 1.1)), Found((2.0, 2.1))).verdict == UNDECIDED


def test_an_interval_that_ends_at_one_decides_nothing() -> None:
    """All ratios are 0.5 or 1, and what takes as long is not the faster."""
    half, one = Found((0.5,) * 3 + (1.0,) * 3), Found((1.0,) * 6)
    assert Duel(half, one).interval[:2] == (0.5, 1.0)
    assert Duel(half, one).verdict == Duel(one, half).verdict == UNDECIDED


def test_searches_on_other_machines_do_not_count(tmp_path: Path) -> None:
    more = {"history": [[10, 0.1, 1.0]], "evaluations": 4000}
    write(tmp_path, record("nmt_2", "post", 1.0, grid="post", machine="k80", **more))
    assert Searches(load_records(tmp_path)).at(NMT_2, "post", 500) == Found(())


def test_other_papers_are_taken_where_they_went_on_for_long_enough(table: Table) -> None:
    cells = row(table, "Post against HDP")
    assert cells[2].endswith("n=10 and 3: holds")
    assert cells[4] == "x10.450, n=10 and 1: undecided"
    assert row(table, "Post against ColocRL")[4] == "missing"
    assert [line[0] for line in section(table, "Post against HDP").rows] == ["nmt_2"]


def test_the_counts_are_of_tasks(table: Table) -> None:
    missing = len(tasks()) - 1
    cells = row(table, "Who is faster", "Post faster than cross-entropy alone")
    assert cells[1] == f"1 / 0 / 0 / {missing}"
    assert cells[4] == f"0 / 1 / 0 / {missing}"


def test_the_claims_stand_beside_what_was_found(table: Table) -> None:
    claims = section(table, "The published claims").rows
    assert [line[1] for line in claims] == ["63.7 %", "58 %", "58 %", "2400"]
    art, gradient, hdp, samples = claims
    assert art[2].startswith("65.2 % [")  # of ColocRL's 3 s, the faster of the two
    assert art[2].endswith("(nmt_2, n=10 and 3); faster on 1 of 1 tasks")
    assert gradient[2].endswith("faster on 0 of 1 tasks")
    assert [line[4] for line in claims] == ["holds", "undecided", "holds", "undecided"]
    assert hdp[2].startswith("73.9 % [")
    assert samples[2] == "up to 4,000 still bring, medians over seeds: nmt_2 0.5 %"


def test_a_gain_that_no_task_reaches_does_not_hold(tmp_path: Path) -> None:
    for task in planned("hdp"):
        for seed in range(6):
            search(tmp_path, "post", seed, 0.5 + 0.01 * seed, 0.5, task=task)
            search(tmp_path, "hdp", seed, 1.0, 1.0, "reference", task=task)
    art = section(build_table("post_claims", tmp_path), "The published claims").rows[0]
    assert art[2].endswith("faster on 9 of 9 tasks")
    assert art[4] == "does not hold"


@pytest.mark.parametrize(
    ("gains", "verdict"),
    [
        ([0.02] * 6, "does not hold"),
        ([0.005] * 3 + [0.02] * 3, "undecided"),
        ([0.005] * 6, "holds"),
    ],
)
def test_placements_are_enough_where_more_bring_little_on_every_task(
    gains: list[float], verdict: str, tmp_path: Path
) -> None:
    """A hundredth at most: one task tells against it, and all of them are needed for it."""
    for number, task in enumerate(tasks()):
        for seed, gain in enumerate(gains):
            late = 1 - (gain if number == 0 else 0.005)
            search(tmp_path, "post", seed, 1.0, late, task=task)
    row = section(build_table("post_claims", tmp_path), "The published claims").rows[3]
    assert row[4] == verdict


def test_nothing_that_fits_is_out_of_memory(table: Table) -> None:
    lines = section(table, "Step times found").rows
    assert next(line for line in lines if line[2] == "Post, tuned")[3:] == ("OOM, n=1",) * 4


def test_what_is_missing_is_said(table: Table) -> None:
    assert (table.found, table.expected) == (41, len(own_cells()))
    [note] = [note for note in table.notes if "Incomplete" in note]
    assert "nmt_2 post_tuned 9, rnnlm post 10, rnnlm post_ce 10" in note


def test_longer_searches_of_rivals_come_before_shorter_ones_and_single_ones(
    tmp_path: Path,
) -> None:
    """At all budgets: three searches of 4,000 placements, none of the other grids' among them."""
    for seed in range(3):
        search(tmp_path, "post", seed, 1.0, 1.0)
        search(tmp_path, "hdp", seed, 9.0, 9.0, "reference")
        search(tmp_path, "hdp", seed, 4.0, 2.0, "post_rivals")
    search(tmp_path, "hdp", 0, 9.0, 9.0, "paper")
    made = build_table("post_claims", tmp_path)
    ratios = [cell.split(",")[0] for cell in row(made, "Post against HDP")[2:]]
    assert [ratio.split(" ")[0] for ratio in ratios] == ["x0.250", "x0.250", "x0.250", "x0.500"]
    assert made.found == 6


def test_hdp_tuned_is_taken_from_the_grid_with_more_seeds(tmp_path: Path) -> None:
    """Five seeds a side of which none is mixed with the other's: the ratio is 2 at every budget."""
    for seed in range(3):
        search(tmp_path, "hdp_tuned", seed, 9.0, 9.0, "reference")
    search(tmp_path, "hdp_tuned", 0, 9.0, 9.0, "paper")
    for seed in range(5):
        search(tmp_path, "hdp_tuned", seed, 1.0, 0.5, "equal_evaluations")
        search(tmp_path, "post_tuned", seed, 2.0, 1.0)
        search(tmp_path, "post", seed, 0.5, 0.25)
    made = build_table("post_claims", tmp_path)
    cells = row(made, "Post, tuned against HDP, tuned")[2:]
    assert cells == ("x2.000 [2.000-2.000], n=5 and 5: does not hold",) * 4
    cells = row(made, "Post against HDP, tuned")[2:]
    assert cells == ("x0.500 [0.500-0.500], n=5 and 5: holds",) * 4
    others = len(tasks()) - 1
    faster = row(made, "Who is faster", "Post, tuned faster than HDP, tuned")
    assert faster[1:] == (f"0 / 1 / 0 / {others}",) * 4
