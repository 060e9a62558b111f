"""What Placeto's paper (Addanki et al. 2019) says of all its graphs together, beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf, nan

import pandas as pd

from suite.report.outcome import Printed
from suite.report.placeto import LEARNED, PLACETO, RNN, TRANSFERRED, Row
from suite.report.tables._claims import (
    PAPER,
    TIMES,
    Claim,
    Untried,
    from_cells,
    gain_over,
    known,
    mean,
    percent,
    seconds,
)
from suite.report.tables._search_cost import PLACEMENTS, Cost, CostRatio

BASES = {
    RNN: ("the RNN-based planner", "rnn_based"),
    "human_expert": ("human experts", "human_expert"),
    "gpu_only": ("a single GPU", "gpu_only"),
    "scotch": ("Scotch", "scotch"),
}
"""Placer -> what claims call it, and its column in the paper's table."""


def placeto_claims(rows: Sequence[Row], theirs: pd.DataFrame, gdp: pd.DataFrame) -> Iterator[Claim]:
    """Run time over each of the others, then search, then graphs that a policy has not seen.

    ``theirs`` is the paper's table, ``gdp`` what GDP's paper says of Placeto.
    """
    for base, (name, column) in BASES.items():
        what = f"faster than {name}"
        yield from from_cells(
            f"over_{base}", what, _printed_gains(theirs, column), *_faster(rows, base, what)
        )
    yield from _sooner(rows, theirs)
    yield from _over_hdp(rows, gdp)
    yield from _transferred(rows)


def _faster(
    rows: Sequence[Row], base: str, what: str, theirs: Printed | None = None
) -> list[Claim]:
    shown = ("-", nan) if theirs is None else (percent(theirs), theirs.value)
    return [
        Claim(f"over_{base}", what, head, _gains(rows, base, placer), *shown)
        for placer, head in PLACETO.items()
    ]


def _gains(rows: Sequence[Row], base: str, placer: str) -> list[float]:
    return [gain_over(seconds(row.outcome[base]), seconds(row.outcome[placer])) for row in rows]


def _printed_gains(theirs: pd.DataFrame, column: str) -> list[float]:
    """What Placeto gains over a column of its paper's table, a number a row."""
    base, new = _printed(theirs, column), _printed(theirs, "placeto")
    # The paper prints some columns once for all numbers of GPUs.
    return [gain_over(base.get(at, base.get((at[0], 0), nan)), new[at]) for at in new]


def _printed(theirs: pd.DataFrame, column: str) -> dict[tuple[str, int], float]:
    """Model and number of GPUs -> the printed number; infinite where it ran out of memory."""
    mine = theirs[theirs["column"] == column]
    cells = mine[["printed_task", "gpus", "value", "status"]].itertuples(index=False)
    return {(str(t), int(n)): inf if status == "oom" else v for t, n, v, status in cells}


def _sooner(rows: Sequence[Row], theirs: pd.DataFrame) -> Iterator[Claim]:
    """How many times Placeto's placements the RNN-based planner needs."""
    what = "needs fewer placements than the RNN-based planner, until"
    printed = [_percent(ratio) for ratio in _printed(theirs, "speed_up").values()]
    target = mean(known(printed))
    published = TIMES.text(target)
    text = f"{what} each found its best"
    yield Claim("search_best", text, PAPER, printed, published, target, TIMES)
    for placer in PLACETO:
        claim = _until(rows, RNN, placer, f"{what} as fast as that in the end")
        yield replace(claim, published=published, target=target)


def _until(rows: Sequence[Row], base: str, placer: str, what: str) -> Claim:
    """Placements of the base over those of ``placer``, both until as fast as the base's end."""
    ratios = []
    for row in rows:
        wanted = row.outcome[base].median
        costs = (Cost.of(row.records[name], wanted, PLACEMENTS) for name in (base, placer))
        ratios.append(CostRatio.of(*costs))
    most, least = [_percent(one.most) for one in ratios], [_percent(one.value) for one in ratios]
    name = f"search_until_{base}"
    return Claim(name, what, PLACETO[placer], most, scale=TIMES, least=least)


def _over_hdp(rows: Sequence[Row], gdp: pd.DataFrame) -> Iterator[Claim]:
    """What another paper says of Placeto and HDP, and HDP with our changes."""
    gain = Printed.of(gdp, "all", "placeto_speedup_over_hdp")
    ratio = Printed.of(gdp, "all", "placeto_search_speedup")
    published, target = f"x{ratio.text}", _percent(ratio.value)
    yield from _faster(rows, "hdp", "faster than HDP (GDP's paper, of its graphs)", gain)
    what = "needs fewer placements than HDP (GDP's paper), until"
    for placer in PLACETO:
        claim = _until(rows, "hdp", placer, f"{what} as fast as that in the end")
        yield replace(claim, published=published, target=target)
    # Searches of equally many placements, by Placeto's own formula.
    for placer in PLACETO:
        each = [_percent(row.speed_up(placer, "hdp")) for row in rows]
        if any(one == one for one in each):
            text, head = f"{what} each found its best", PLACETO[placer]
            yield Claim("search_best_over_hdp", text, head, each, published, target, TIMES)
    yield from _faster(rows, "hdp_tuned", f"faster than {LEARNED['hdp_tuned']}")


def _transferred(rows: Sequence[Row]) -> Iterator[Claim]:
    """Policies of other graphs against a search that starts from nothing."""
    for placer in ("placeto_zero_shot", "placeto_fine_tuned"):
        head = TRANSFERRED[placer]
        what = f"on an unseen graph, {head}: faster than {TRANSFERRED['placeto_from_scratch']}"
        gains = _gains(rows, "placeto_from_scratch", placer)
        yield Claim(f"{placer}_over_scratch", what, PLACETO["terminal"], gains)


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1) if ratio == ratio else nan


def untried(claims: pd.DataFrame) -> Iterator[Untried]:
    """What the paper says and nothing here tries."""
    for family in ("cifar10", "ptb", "nmt"):
        yield Untried(
            f"a policy of sixteen graphs of the family {family} needs little or no training on"
            " sixteen others"
        )
    for what, column in (
        ("on nmt better than with a simple aggregator, by", "gain_over_simple_aggregator"),
        ("on nmt better than with a simple partitioner, by", "gain_over_simple_partitioner"),
    ):
        yield Untried(what, Printed.of(claims, "all", column))
