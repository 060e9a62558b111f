"""What GDP (Zhou et al. 2019) says of the graphs of its Table 1 together, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, nan

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import LEARNED, LEARNERS
from suite.report.outcome import JUDGED, Printed
from suite.report.tables._claims import (
    PAPER,
    TIMES,
    Claim,
    Untried,
    gain_over,
    percent,
    seconds,
)
from suite.report.tables._search_cost import PLACEMENTS, SECONDS, SearchCost, Unit

TUNED = "gdp_tuned"
FASTER_THAN = {
    "human_expert": ("human experts", "speedup_over_human"),
    "metis": ("METIS", ""),
    "hdp": ("HDP", "speedup_over_hdp"),
}
"""Placer -> what claims call it, and the published column with GDP's speed-up over it."""


def search_cost(ours: Comparison) -> SearchCost:
    """What GDP's searches cost until they are as fast as HDP's end."""
    others = {name: LEARNERS[name] for name in (LEARNED, TUNED)}
    return SearchCost(ours, "hdp", others, LEARNERS["hdp"])


def search_cost_tuned(ours: Comparison) -> SearchCost:
    """The same of both planners with our changes."""
    return SearchCost(ours, "hdp_tuned", {TUNED: LEARNERS[TUNED]}, LEARNERS["hdp_tuned"])


def search_seconds(ours: Comparison, row: Row, placer: str) -> float:
    """CPU seconds of one whole search."""
    # A search does the same work with every seed, so that what is above the least is the host's.
    cells = ours.of_cell(row, placer)
    return float(cells[cells["status"].isin(JUDGED)]["cpu_seconds"].min())


def search_speedup(ours: Comparison, row: Row) -> float:
    """CPU seconds of HDP's whole search over those of GDP's."""
    return search_seconds(ours, row, "hdp") / search_seconds(ours, row, LEARNED)


def gdp_claims(ours: Comparison, printed: pd.DataFrame) -> Iterator[Claim]:
    """Run time over each of the others, then search, over the graphs of the table."""
    for base, (head, column) in FASTER_THAN.items():
        yield from _faster(ours, printed, base, f"faster than {head}", column)
    yield Claim(
        *("over_hdp_tuned", "faster than HDP, both with our changes", LEARNERS[TUNED]),
        _gains(ours, "hdp_tuned", TUNED),
    )
    yield from _sooner(ours, printed)


def _faster(
    ours: Comparison, printed: pd.DataFrame, base: str, what: str, column: str
) -> Iterator[Claim]:
    theirs = [
        gain_over(_printed(ours, row, base), _printed(ours, row, LEARNED)) for row in ours.rows
    ]
    total = Printed.of(printed, "all", column)
    for planner, gains in (
        # The paper's own percentages, which are not all those of its seconds.
        (PAPER, [ours.theirs(row, column).value for row in ours.rows] if column else theirs),
        *((LEARNERS[placer], _gains(ours, base, placer)) for placer in (LEARNED, TUNED)),
    ):
        yield Claim(f"over_{base}", what, planner, gains, percent(total), total.value)


def _gains(ours: Comparison, base: str, placer: str) -> list[float]:
    return [
        gain_over(seconds(ours.ours(row, base)), seconds(ours.ours(row, placer)))
        for row in ours.rows
    ]


def _printed(ours: Comparison, row: Row, placer: str) -> float:
    theirs = ours.theirs(row, placer)
    return inf if theirs.status == "oom" else theirs.value


def _sooner(ours: Comparison, printed: pd.DataFrame) -> Iterator[Claim]:
    """How many times the cost of GDP's search HDP's is, by three measures of cost."""
    total = Printed.of(printed, "all", "search_speedup")
    published, target = f"x{total.text}", _percent(total.value)
    theirs = [_percent(ours.theirs(row, "search_speedup").value) for row in ours.rows]
    what = "a search is cheaper than HDP's"
    yield Claim("search", f"{what}, however measured", PAPER, theirs, published, target, TIMES)
    cost = search_cost(ours)
    for unit in (PLACEMENTS, SECONDS):
        for placer in (LEARNED, TUNED):
            name, text = f"search_{unit.name}", f"{what}, in {unit.name} to HDP's final quality"
            planner, gains, least = LEARNERS[placer], *_ratios(cost, placer, unit)
            yield Claim(name, text, planner, gains, published, target, TIMES, least)
    whole = [_percent(search_speedup(ours, row)) for row in ours.rows]
    text = f"{what}, in CPU seconds of whole searches"
    yield Claim("search_cpu", text, LEARNERS[LEARNED], whole, published, target, TIMES)
    tuned = search_cost_tuned(ours)
    for unit in (PLACEMENTS, SECONDS):
        gains, least = _ratios(tuned, TUNED, unit)
        text = f"{what}, both with our changes, in {unit.name} to the final quality of HDP, tuned"
        name, planner = f"search_{unit.name}_tuned", LEARNERS[TUNED]
        yield Claim(name, text, planner, gains, scale=TIMES, least=least)


def _ratios(cost: SearchCost, placer: str, unit: Unit) -> tuple[list[float], list[float]]:
    """In percent above 1: what the ratios are at most, and at least."""
    ratios = cost.ratios(placer, unit)
    return [_percent(one.most) for one in ratios], [_percent(one.value) for one in ratios]


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1) if ratio == ratio else nan


def untried(claims: pd.DataFrame) -> Iterator[Untried]:
    """What the paper says and nothing here tries."""
    for what, column, is_ratio in (
        ("Placeto's placements are faster than HDP's (text)", "placeto_speedup_over_hdp", False),
        ("Placeto's search is cheaper than HDP's (text)", "placeto_search_speedup", True),
    ):
        yield Untried(what, Printed.of(claims, "all", column), is_ratio)
