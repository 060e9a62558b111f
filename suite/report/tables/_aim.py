"""What planners that learn on other graphs were aimed at, and whether they get there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, nan
from statistics import median

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.load_records import of_cells
from suite.report.outcome import JUDGED
from suite.report.post import FAILS, HOLDS, MISSING, UNDECIDED, Duel, Found
from suite.report.table import Section
from suite.report.tables._claims import average, gain_over, known

METIS, LONG = "metis", "annealing_1000"
"""The placers that are to be beaten, or reached."""
FIRST = "from its first placement on faster than METIS"
LATER = "in the end as fast as annealing after 1,000"
RULE = (
    "On one graph the aim holds where the interval of the ratio of the two step times is"
    " below 1, does not hold where it is above, and is undecided where 1 is within, or where"
    " there are too few seeds for an interval. The interval: the factors that a Mann-Whitney"
    " test at 5 % would not reject. The aim is about every graph: it holds where it holds on"
    " all of them, does not hold where it does not on one or more, and is undecided else."
    " Gains are (other - planner) / planner, of medians over seeds; what does not fit in"
    " memory (OOM) is slower than all that does, and counts as a gain of -100 %."
)
"""How verdicts are decided, in words."""


@dataclass(frozen=True)
class Entrant:
    """A planner in a grid, whose graphs it has not seen."""

    grid: str
    placer: str
    head: str
    is_first: bool
    """Whether its first placement is asked for, in the place of what it ends with."""


def aim_section(
    records: pd.DataFrame, title: str, lead: str, entrants: Sequence[Entrant]
) -> Section:
    """A row for each planner: its gain, how often it is ahead, and on how many graphs for sure."""
    rows = [_row(records, entrant) for entrant in entrants]
    header = (
        *("aim", "planner", "grid", "placements", "seeds of both"),
        *("median gain [interval over graphs]", "faster on"),
        *("holds / does not / undecided on", "verdict"),
    )
    return Section(title, header, tuple(rows), lead)


def _row(records: pd.DataFrame, entrant: Entrant) -> tuple[str, ...]:
    duels = list(_duels(records, entrant))
    gains = known(gain_over(_median(duel.theirs), _median(duel.ours)) for duel in duels)
    _, middle, wins = average(gains)
    counts = Counter(duel.verdict for duel in duels)
    decided = " / ".join(str(counts[word]) for word in (HOLDS, FAILS, UNDECIDED))
    return (
        FIRST if entrant.is_first else LATER,
        *(entrant.head, f"`{entrant.grid}`", _placements(records, entrant), _seeds(duels)),
        *(middle, wins, decided, verdict([duel.verdict for duel in duels])),
    )


def verdict(on_graphs: Sequence[str]) -> str:
    """Of all graphs, from that of each."""
    if MISSING in on_graphs or not on_graphs:
        return FAILS if FAILS in on_graphs else MISSING
    if FAILS in on_graphs:
        return FAILS
    return UNDECIDED if UNDECIDED in on_graphs else HOLDS


def _duels(records: pd.DataFrame, entrant: Entrant) -> Iterator[Duel]:
    """The planner against the other, a graph each."""
    cells = planned_cells(entrant.grid)
    ours = of_cells(records, list(cells))
    ours = ours[ours["status"].isin(JUDGED)]
    for task in dict.fromkeys(cell.task for cell in cells):
        here = ours[ours["task"] == task]
        other = METIS if entrant.is_first else LONG
        mine = here[here["placer"] == entrant.placer]
        find = first_seconds if entrant.is_first else last_seconds
        yield Duel(Found(find(mine)), Found(last_seconds(here[here["placer"] == other])))


def first_seconds(records: pd.DataFrame) -> tuple[float, ...]:
    """The step time of the first placement, a value a seed; infinite where it does not fit.

    Of a planner that evaluates nothing, that of its only one.
    """
    found = []
    for last, history in zip(last_seconds(records), records["history"], strict=True):
        if history:
            number, _, seconds = history[0]
            found.append(seconds if number == 1 else inf)
        else:
            found.append(last)
    return tuple(found)


def last_seconds(records: pd.DataFrame) -> tuple[float, ...]:
    """The step time of the answer, a value a seed; infinite where it does not fit."""
    times = zip(records["step_time"], records["status"], strict=True)
    return tuple(float(seconds) if status == "ok" else inf for seconds, status in times)


def _median(found: Found) -> float:
    return median(found.seconds) if found.seconds else nan


def _placements(records: pd.DataFrame, entrant: Entrant) -> str:
    """How many placements the planner has had judged by then."""
    if entrant.is_first:
        return "1"
    mine = records[(records["grid"] == entrant.grid) & (records["placer"] == entrant.placer)]
    counts = mine["evaluations"].dropna()
    return f"{counts.max():,.0f}" if len(counts) else MISSING


def _seeds(duels: Sequence[Duel]) -> str:
    """The fewest of any graph."""
    pairs = [(len(duel.ours.seconds), len(duel.theirs.seconds)) for duel in duels]
    known_pairs = [pair for pair in pairs if all(pair)]
    if not known_pairs:
        return MISSING
    ours, theirs = (min(counts) for counts in zip(*known_pairs, strict=True))
    return f"{ours} and {theirs}"
