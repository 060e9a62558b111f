"""The sections of GDP's pages that hold its claims against all graphs, from records by hand."""

from __future__ import annotations

from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import pytest
from suite_records import record, write

from suite.report.build import build_table
from suite.report.table import Table
from suite.report.tables._claims import TIMES, Claim, average, gain_over, verdict

GPUS = {"gdp_rnnlm_2": 2, "gdp_rnnlm_4": 4, "gnmt_2": 2, "gnmt_4": 4}
GPUS |= {"transformer_xl_2": 2, "transformer_xl_4": 4}
SOONER = "a search is cheaper than HDP's, in placements to HDP's final quality"


def gdp_record(task: str, placer: str, seconds: float, **more: Any) -> dict[str, Any]:
    cell = {"grid": more.pop("grid", "gdp"), "machine": "p100", "gpus": GPUS[task], "task": task}
    return record(
        "nmt_2", placer, seconds, **{"cell": cell | {"placer": placer, "seed": 0}, **more}
    )


def claim(page: Table, what: str, planner: str) -> list[str]:
    """Published, mean, median with interval, better on, verdict."""
    grid = next(s for s in page.sections if s.title == "The published claims")
    [row] = [row for row in grid.rows if row[:2] == (what, planner)]
    return list(row[2:])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Six graphs: HP 1.16 times GDP's second, METIS in need of memory, HDP a little faster."""
    folder = tmp_path_factory.mktemp("results")
    found = []
    for i, task in enumerate(GPUS):
        search = {"evaluations": 100, "wall_seconds": 50.0}
        found += [
            gdp_record(task, "human_expert", 1.16 + 0.01 * i),
            gdp_record(task, "metis", 9.0, status="oom", oom=["gpu:0"]),
            gdp_record(task, "hdp", 0.98, history=[[40, 20.0, 0.98]], **search),
            # Never as fast as HDP's end, so that HDP's 40 placements stand against 100.
            gdp_record(task, "gdp", 1.0, history=[[10, 5.0, 1.0]], **search),
            gdp_record(task, "gdp_tuned", 0.5, history=[[2, 1.0, 0.9], [8, 4.0, 0.5]], **search),
        ]
    write(folder, *found)
    return build_table("gdp_table1", folder)


def test_run_time_over_all_graphs(page: Table) -> None:
    """Gains of 16, 17, 18, 19, 20 and 21 %: the median is 18.5, the geometric mean 18.49."""
    assert claim(page, "faster than human experts", "GDP-one") == [
        *("16 %", "18.5 %", "18.5 % [16.0 to 21.0; 97%]", "6 of 6", "holds")
    ]
    assert claim(page, "faster than HDP", "GDP-one") == [
        *("9.2 %", "-2.0 %", "-2.0 % [-2.0 to -2.0; 97%]", "0 of 6", "does not hold")
    ]


def test_what_runs_out_of_memory_is_infinitely_slow(page: Table) -> None:
    assert claim(page, "faster than METIS", "GDP-one") == [
        *("-", "-", "OOM [OOM to OOM; 97%]", "6 of 6", "holds")
    ]
    # Of the paper's METIS nine are, and 0.355 / 0.234 is 1.517 of the slowest of the three others.
    assert claim(page, "faster than METIS", "the paper") == [
        *("-", "19.7 %", "OOM [51.7 to OOM; 96%]", "12 of 12", "holds")
    ]


def test_the_papers_own_cells_are_held_against_its_figure(page: Table) -> None:
    """Of its twelve percentages the third from below is 5.5 and the third from above 19.8."""
    assert claim(page, "faster than HDP", "the paper") == [
        *("9.2 %", "11.2 %", "8.2 % [5.5 to 19.8; 96%]", "12 of 12", "holds")
    ]


def test_search_cost_over_all_graphs(page: Table) -> None:
    """At most 40 / 100, and 40 / 2."""
    assert claim(page, SOONER, "GDP-one") == [
        *("x15", "< x0.40", "< x0.40 [x0.40 to x0.40; 97%]", "0 of 6", "does not hold")
    ]
    assert claim(page, SOONER, "GDP, tuned") == [
        *("x15", "x20.0", "x20.0 [x20.0 to x20.0; 97%]", "6 of 6", "holds")
    ]


def test_what_is_not_tried_is_listed_with_its_figure(page: Table) -> None:
    grid = next(s for s in page.sections if s.title == "The published claims")
    untried = [row[2] for row in grid.rows if row[-1] == "not tried"]
    assert untried == ["3 %", "x2.65"]


def test_the_file_has_the_claims(page: Table) -> None:
    data = page.data[page.data["metric"] == "claim_over_human_expert"].set_index("column")
    assert data.loc["GDP-one", "value"] == pytest.approx(18.49, abs=0.01)
    assert data.loc["GDP-one", "interval_low"] == pytest.approx(16)
    assert dict(data["n"]) == {"the paper": 12, "GDP-one": 6, "GDP, tuned": 6}
    bounds = page.data[page.data["metric"] == "claim_search_placements_at_most"]
    assert dict(zip(bounds["column"], bounds["value"], strict=True)) == {
        "GDP-one": pytest.approx(-60)
    }


def test_one_policy_for_many_graphs(tmp_path: Path) -> None:
    """All six are 1 % slower; the paper's mean, 2.6 %, is not in its table."""
    for task in GPUS:
        one = gdp_record(task, "gdp", 0.99)
        write(tmp_path, one, gdp_record(task, "gdp_batch", 1.0, grid="gdp_batch"))
    page = build_table("gdp_table2", tmp_path)
    what = "one policy for eleven graphs is faster than one for each"
    assert claim(page, what, "GDP-batch") == [
        *("2.6 %", "-1.0 %", "-1.0 % [-1.0 to -1.0; 97%]", "0 of 6", "does not hold")
    ]
    assert claim(page, what, "tuned, batch")[1:] == ["missing"] * 4
    assert claim(page, what, "the paper")[-1] == "undecided"


def test_small_batches_that_are_not_built_are_listed(tmp_path: Path) -> None:
    write(tmp_path, gdp_record("gnmt_2", "gdp_tuned_batch2", 1.0, grid="gdp_batch2"))
    page = build_table("gdp_table3", tmp_path)
    assert claim(page, "batch 4, three times 8-layer GNMT", "-")[0::4] == ["5.1 %", "not tried"]
    assert claim(page, "batch 2 is faster than the best other", "the paper")[0] == "0.9 %"


def test_a_hold_out_that_does_not_fit_is_slower(tmp_path: Path) -> None:
    """Five gains of 20 %, one graph that runs out of memory."""
    for i, task in enumerate(GPUS):
        shot = gdp_record(task, "gdp_zero_shot", 1.0, grid="gdp_holdout")
        shot |= {"status": "oom", "oom": ["gpu:0"]} if i == 0 else {}
        write(tmp_path, gdp_record(task, "human_expert", 1.2), shot)
    page = build_table("gdp_figure2", tmp_path)
    found = claim(page, "zero-shot is faster than the human expert", "zero-shot")
    # wavenet_2x18, the figure's sixth graph, has no record, so that there are five of six.
    assert found[1:] == ["20.0 %", "20.0 % [-100.0 to 20.0; 94%]", "4 of 5", "undecided"]


@pytest.mark.parametrize(
    ("base", "new", "gain"), [(3.0, 2.0, 50.0), (inf, 2.0, inf), (3.0, inf, -100.0)]
)
def test_gains_of_times_that_may_be_infinite(base: float, new: float, gain: float) -> None:
    assert gain_over(base, new) == gain


def test_gains_that_nothing_is_known_of() -> None:
    pairs = [(inf, inf), (nan, 1.0), (1.0, nan), (nan, inf)]
    assert all(isnan(gain_over(*pair)) for pair in pairs)


def test_a_verdict_that_hangs_on_upper_ends_is_undecided() -> None:
    """With x2 all are above 1; at least, they are 0."""
    assert verdict([100.0] * 6, nan) == "holds"
    unsure = Claim("name", "what", "who", [100.0] * 6, scale=TIMES, least=[-100.0] * 6)
    assert unsure.verdict == "undecided"
    assert unsure.cells()[3:6] == ("< x2.00", "< x2.00 [x2.00 to x2.00; 97%]", "0 of 6")
    sure = Claim("name", "what", "who", [100.0] * 6, scale=TIMES, least=[100.0] * 6)
    assert sure.verdict == "holds"
    assert sure.cells()[3:6] == ("x2.00", "x2.00 [x2.00 to x2.00; 97%]", "6 of 6")


def test_a_claim_holds_only_where_the_mean_reaches_the_published_one() -> None:
    """An interval up to OOM ends above any figure, and decides nothing about it."""
    gains = [0.1, 8.0, 43.0, inf, inf, inf]
    assert verdict(gains, nan) == "holds"
    assert verdict(gains, 47.2) == "undecided"
    assert verdict(gains, 15.0) == "holds"  # exp(mean(log(1.001, 1.08, 1.43))) is 1.156
    assert verdict([46.8] * 6, 47.2) == "holds"  # within 1 % of it: it is rounded
    assert verdict([46.7] * 6, 47.2) == "does not hold"


@pytest.mark.parametrize(
    ("gains", "target", "decided"),
    [
        ([0.0] * 6, nan, "undecided"),  # neither above zero nor below
        ([0.0] + [5.0] * 5, nan, "undecided"),
        ([-5.0] * 5 + [0.0], nan, "undecided"),
        ([-5.0] * 6, nan, "does not hold"),
        ([0.0] + [60.0] * 5, 40.0, "undecided"),  # the mean reaches it, but one gains nothing
        ([1.0] * 5 + [10.0], 10.0, "undecided"),  # the other way round: an end reaches it
        ([1.0] * 5 + [9.0], 10.0, "does not hold"),
        ([-10.05] * 6, -10.0, "undecided"),  # within 1 % of a loss, too
        ([-10.2] * 6, -10.0, "does not hold"),
    ],
)
def test_what_only_touches_zero_or_the_published_figure_is_undecided(
    gains: list[float], target: float, decided: str
) -> None:
    assert verdict(gains, target) == decided


def test_too_few_graphs_have_a_range_and_no_verdict() -> None:
    assert average([10.0, 20.0])[1] == "15.0 % [10.0 to 20.0; 50%]"
    assert average([0.0, 20.0])[2] == "1 of 2"  # as fast is not faster
    assert verdict([10.0, 20.0], 5.0) == "undecided"
    assert verdict([10.0], 5.0) == "missing"
