"""Placeto's table of run times, from records made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.table import Table


def search(
    folder: Path,
    grid: str,
    placer: str,
    curve: list[tuple[int, float]],
    seed: int,
    budget: int = 1000,
) -> None:
    history = [[number, 0.1 * number, best] for number, best in curve]
    found = {"history": history, "evaluations": budget}
    write(folder, record("nmt_2", placer, curve[-1][1], seed, grid=grid, **found))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("results")
    for seed in range(3):
        search(
            folder, "placeto", "placeto", [(10, 4.0), (100, 2.0), (5000 + seed, 1.5)], seed, 20_000
        )
        search(folder, "placeto", "terminal", [(20, 2.5)], seed)
        search(folder, "reference", "hdp_tf_release", [(5, 3.0), (400, 2.0)], seed, 501)
        search(folder, "reference", "hdp_tuned", [(900, 1.0)], seed)
    write(folder, record("nmt_2", "gpu_only", None, status="oom"))
    # Of a grid that the table does not read.
    search(folder, "gdp", "hdp", [(1, 0.1)], 0)
    return build_table("placeto_run_times", folder)


def cells(table: Table, title: str, first: str = "nmt_2") -> dict[str, str]:
    section = next(one for one in table.sections if one.title.startswith(title))
    row = next(row for row in section.rows if row[0] == first)
    return dict(zip(section.header, row, strict=True))


def test_gains_are_by_the_papers_formulas(table: Table) -> None:
    claims = next(one for one in table.sections if one.title == "The claims")
    found = {row[:2]: row[2:] for row in claims.rows}
    # (2 - 1.5) / 2. 20,000 placements against 501 would find their best late by themselves.
    released = "RNN-based (HDP as released)"
    assert found["Placeto", released] == ("20,000 / 501", "1 of 1", "25 to 25", "-", "-")
    assert found["Placeto", "HDP tuned"] == (*("20,000 / 1,000", "0 of 1", "-50 to -50", "-", "-"),)
    # (2 - 2.5) / 2, and 400 placements against 20.
    terminal = found["Placeto, terminal reward", released]
    assert terminal == ("1,000 / 501", "0 of 1", "-25 to -25", "1 of 1", "x20 to x20")
    assert found["Placeto", "HDP"] == ("20,000 / missing", "0 of 0", "missing", "-", "-")


def test_the_papers_own_figures_follow_from_its_table(table: Table) -> None:
    claims = next(one for one in table.sections if one.title == "The claims")
    assert claims.rows[0][2:] == ("as needed", "5 of 6", "-0.85 to 16.5", "5 of 6", "x0.55 to x6.1")
    printed = next(one for one in table.sections if one.title == "What the paper prints")
    assert len(printed.rows) == 6
    for row in printed.rows:
        cell = dict(zip(printed.header, row, strict=True))
        placeto, rnn = float(cell["placeto (s)"]), float(cell["rnn based (s)"])
        assert float(cell["reduction (%)"]) == pytest.approx(100 * (rnn - placeto) / rnn, abs=0.3)
        counts = [float(cell[f"{of} placements (placements)"]) for of in ("rnn based", "placeto")]
        assert float(cell["speed up (x)"]) == pytest.approx(counts[0] / counts[1], rel=0.03)


def test_times_and_failures_are_shown(table: Table) -> None:
    times = cells(table, "Step time")
    assert times["Placeto"] == "1.50 [1.50-1.50, n=3]"
    assert times["1 GPU"] == "OOM"
    assert times["HDP"] == times["Expert"] == "missing"


def test_placements_until_the_best_and_until_as_fast_as_others(table: Table) -> None:
    until = cells(table, "Placements evaluated until the best")
    assert (until["Placeto"], until["HDP"]) == ("5,001", "missing")
    caught = cells(table, "Placements by which half of Placeto's seeds")
    assert caught["Placeto: RNN-based (HDP as released)"] == "100"
    assert caught["Placeto: HDP tuned"] == "not reached"
    assert caught["Placeto: HDP"] == "missing"


def test_without_a_record_all_is_missing(tmp_path: Path) -> None:
    empty = build_table("placeto_run_times", tmp_path)
    assert empty.found == 0
    assert cells(empty, "Step time")["Placeto"] == "missing"
