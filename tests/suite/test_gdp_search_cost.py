"""What searches cost until they are as fast as HDP's end, from records made by hand."""

from __future__ import annotations

from math import inf, isnan
from pathlib import Path
from typing import Any

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.table import Table
from suite.report.tables._search_cost import Cost, CostRatio
from suite.report.until import median_until, seconds_until

GPUS = {"gdp_rnnlm_2": 2, "amoebanet_d": 4}
PLACEMENTS = "Search cost to HDP's final quality, in placements"
SECONDS = "Search cost to HDP's final quality, in seconds"
MEAN = "GEOMEAN of ratios; graphs reached"


def search(
    task: str, placer: str, seed: int, *history: tuple[int, float, float], wall: float = 99.0
) -> dict[str, Any]:
    cell = {"grid": "gdp", "machine": "p100", "gpus": GPUS[task], "task": task}
    cell |= {"placer": placer, "seed": seed}
    more = {"history": [list(one) for one in history], "evaluations": 100, "wall_seconds": wall}
    return record("nmt_2", placer, history[-1][2], **{"cell": cell, **more})


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Table:
    folder = tmp_path_factory.mktemp("results")
    write(
        folder,
        # HDP ends with 0.5, 0.4 and 0.3 s: the target is 0.4.
        search("gdp_rnnlm_2", "hdp", 0, (1, 2.0, 0.9), (50, 20.0, 0.5)),
        search("gdp_rnnlm_2", "hdp", 1, (1, 2.0, 0.8), (80, 30.0, 0.4)),
        search("gdp_rnnlm_2", "hdp", 2, (1, 2.0, 0.7), (40, 60.0, 0.35), (90, 70.0, 0.3)),
        search("gdp_rnnlm_2", "gdp", 0, (10, 3.0, 0.4)),
        search("gdp_rnnlm_2", "gdp", 1, (20, 5.0, 0.39)),
        search("gdp_rnnlm_2", "gdp", 2, (1, 1.0, 0.6)),
        search("gdp_rnnlm_2", "gdp_tuned", 0, (5, 1.0, 0.2)),
        search("gdp_rnnlm_2", "gdp_tuned", 1, (5, 1.0, 0.41), wall=50.0),
        search("gdp_rnnlm_2", "gdp_tuned", 2, (5, 1.0, 0.6), wall=40.0),
        search("amoebanet_d", "hdp", 0, (16, 8.0, 0.5)),
        search("amoebanet_d", "gdp", 0, (16, 2.0, 0.5)),
    )
    return build_table("gdp_table1", folder)


def rows_of(page: Table, section: str) -> dict[str, dict[str, str]]:
    grid = next(s for s in page.sections if s.title == section)
    return {row[0]: dict(zip(grid.header, row, strict=True)) for row in grid.rows}


def test_a_seed_that_failed_is_none_that_never_got_there(tmp_path: Path) -> None:
    late = search("gdp_rnnlm_2", "hdp", 2, (1, 2.0, 0.9))
    write(
        tmp_path,
        search("gdp_rnnlm_2", "hdp", 0, (50, 20.0, 0.5)),
        search("gdp_rnnlm_2", "hdp", 1, (80, 30.0, 0.5)),
        late | {"status": "timeout", "step_time": None, "step_times": [], "cpu_seconds": 0.1},
        search("gdp_rnnlm_2", "gdp", 0, (10, 3.0, 0.4)),
    )
    page = build_table("gdp_table1", tmp_path)
    row = rows_of(page, PLACEMENTS)["2-layer RNNLM (2)"]
    assert row["HDP, placements"] == "50, 2 of 2"
    assert row["HDP / GDP-one"] == "x5.00 (x2.95)"
    (speedup,) = page.data[page.data["metric"] == "search_speedup"]["value"].dropna()
    assert speedup == pytest.approx(1.0)  # CPU seconds of whole searches, not of the one cut short


def test_placements_until_half_of_the_seeds_are_as_fast(page: Table) -> None:
    """HDP's own seeds: never, 80, 40; GDP's: 10, 20, never; 80 / 20 = 4."""
    row = rows_of(page, PLACEMENTS)["2-layer RNNLM (2)"]
    assert row["HDP's end, s a step"] == "0.40"
    assert row["HDP, placements"] == "80, 2 of 3"
    assert row["GDP-one, placements"] == "20, 2 of 3"
    assert row["HDP / GDP-one"] == "x4.00 (x2.95)"


def test_seconds_have_a_median_of_their_own(page: Table) -> None:
    """HDP's: never, 30, 60, so that it is another seed's than in placements; 60 / 5 = 12."""
    row = rows_of(page, SECONDS)["2-layer RNNLM (2)"]
    assert row["HDP, seconds"] == "60.0, 2 of 3"
    assert row["GDP-one, seconds"] == "5.0, 2 of 3"
    assert row["HDP / GDP-one"] == "x12.0 (x2.95)"


def test_what_most_seeds_never_reach_bounds_the_ratio_by_whole_searches(page: Table) -> None:
    """5, more than 100, more than 100 placements: 80 / 100; 1, > 40, > 50 seconds: 60 / 40."""
    row = rows_of(page, PLACEMENTS)["2-layer RNNLM (2)"]
    assert row["GDP, tuned, placements"] == "not reached, 1 of 3"
    assert row["HDP / GDP, tuned"] == "< x0.80"
    assert rows_of(page, SECONDS)["2-layer RNNLM (2)"]["HDP / GDP, tuned"] == "< x1.50"


def test_the_mean_is_geometric_and_says_where_it_is_a_bound(page: Table) -> None:
    """sqrt(4 x 1) = 2; sqrt(12 x 4) = 6.93."""
    mean = rows_of(page, PLACEMENTS)[MEAN]
    assert mean["HDP / GDP-one"] == "x2.00 of 2"
    assert mean["HDP / GDP, tuned"] == "< x0.80 of 1"
    assert mean["HDP, placements"] == "2 of 2"
    assert mean["GDP, tuned, placements"] == "0 of 1"
    assert rows_of(page, SECONDS)[MEAN]["HDP / GDP-one"] == "x6.93 of 2"


def test_a_missing_record_is_no_search_that_failed(page: Table) -> None:
    row = rows_of(page, PLACEMENTS)["AmoebaNet (4)"]
    assert row["GDP, tuned, placements"] == row["HDP / GDP, tuned"] == "missing"
    row = rows_of(page, PLACEMENTS)["8-layer GNMT (8)"]
    assert row["HDP's end, s a step"] == row["HDP, placements"] == "missing"
    assert row["HDP / GDP-one"] == "missing (x7.35)"


def test_the_file_has_costs_and_ratios(page: Table) -> None:
    data = page.data[page.data["task"] == "gdp_rnnlm_2"]
    costs = data[data["metric"] == "placements_until_hdp"].set_index("column")
    assert dict(costs["value"]) == {"hdp": 80, "gdp": 20, "gdp_tuned": inf}
    assert dict(costs["n"]) == {"hdp": 2, "gdp": 2, "gdp_tuned": 1}
    ratios = data[data["metric"] == "ratio_of_seconds_until_hdp"].set_index("column")
    assert dict(ratios["value"]) == {"gdp": 12, "gdp_tuned": 0}
    assert dict(ratios["high"]) == {"gdp": 12, "gdp_tuned": 1.5}


def test_the_notes_say_how_far_apart_hosts_are(page: Table) -> None:
    """99 s over 40 s."""
    [note] = [note for note in page.notes if note.startswith("Search cost to HDP's")]
    assert "one seed's whole search took up to 2.5 times as long as another's" in note


def test_seconds_until_a_step_time() -> None:
    history = [(1, 0.5, 3.0), (4, 2.5, 2.0)]
    assert [seconds_until(history, wanted) for wanted in (3.5, 3.0, 2.0, 1.0)] == [
        *(0.5, 0.5, 2.5, inf)
    ]
    assert median_until([history], 2.0, seconds_until) == 2.5


def test_two_that_never_were_as_fast_have_no_ratio() -> None:
    never = Cost(inf, 100, 0, 3)
    assert isnan(CostRatio.of(never, never).value)
    assert CostRatio.of(never, never).text() == "missing"
    assert CostRatio.of(never, Cost(10, 10, 3, 3)).value == inf


def test_a_paper_that_only_says_what_a_graph_is_larger_than(page: Table) -> None:
    graphs = rows_of(page, "Graphs")
    assert graphs["8-layer GNMT"]["paper"] == "> 50,000, > 60,000"
    assert graphs["2-layer RNNLM"]["paper"] == "-"
