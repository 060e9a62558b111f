"""Post's searches (Gao et al., NeurIPS 2018) and those they are compared with, at equal budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nan
from statistics import median

import pandas as pd

from suite.bench.cell import Cell
from suite.bench.grid import planned_cells
from suite.core.statistics import Interval, median_interval, ratio_estimate, ratio_interval

GRID = "post"
RIVALS = ("post_rivals", "post_rivals_hdp")
"""Grids with other papers' planners and as many placements: the tasks of Post's paper, HDP's."""
OTHERS = (*RIVALS, "equal_evaluations", "reference", "paper")
"""Grids with the placers of other papers; the first whose searches went on for long enough counts,
which is the one with more seeds. All have the same settings of a placer, but for the budget;
``equal_evaluations`` has ``hdp_tuned`` alone of them."""
BUDGETS = (500, 1000, 2400, 4000)
"""Evaluated placements after which searches are compared."""
PLACERS = {
    "post": "Post",
    "post_ce": "cross-entropy alone",
    "post_ppo": "PPO alone",
    "post_pg": "policy gradient",
    "post_tuned": "Post, tuned",
    "hdp": "HDP",
    "hdp_tuned": "HDP, tuned",
    "colocrl": "ColocRL",
}
"""Placer or label -> what tables call it."""
HOLDS, FAILS, UNDECIDED, MISSING = "holds", "does not hold", "undecided", "missing"


@dataclass(frozen=True)
class Task:
    """A task of the grid."""

    name: str
    gpus: int


def tasks() -> tuple[Task, ...]:
    """The tasks of the grid, in its order."""
    return tuple(dict.fromkeys(Task(cell.task, cell.gpus) for cell in planned_cells(GRID)))


def own_cells() -> tuple[Cell, ...]:
    """What the grids that are for this comparison plan."""
    return tuple(cell for grid in (GRID, *RIVALS) for cell in planned_cells(grid))


def planned(placer: str) -> tuple[Task, ...]:
    """Those on which a grid runs this placer."""
    cells = [cell for grid in (GRID, *OTHERS) for cell in planned_cells(grid)]
    known = {Task(cell.task, cell.gpus) for cell in cells if cell.placer == placer}
    return tuple(task for task in tasks() if task in known)


@dataclass(frozen=True)
class Found:
    """The best step times of several searches after so many placements."""

    seconds: tuple[float, ...]
    """One a seed, infinite where nothing fitted in memory."""

    @property
    def median(self) -> float:
        """Seconds; NaN without a search."""
        return median(self.seconds) if self.seconds else nan

    @property
    def interval(self) -> Interval:
        """Interval of the median over seeds, or their range."""
        return median_interval(self.seconds)


@dataclass(frozen=True)
class Duel:
    """One placer against another on one task, after equally many placements."""

    ours: Found
    theirs: Found

    @property
    def ratio(self) -> float:
        """Our step time / theirs; NaN where one of the two is missing."""
        known = self.ours.seconds and self.theirs.seconds
        return ratio_estimate(self.ours.seconds, self.theirs.seconds) if known else nan

    @property
    def interval(self) -> Interval:
        """Interval of the ratio; of NaN where one side has fewer than two searches."""
        return ratio_interval(self.ours.seconds, self.theirs.seconds)

    @property
    def verdict(self) -> str:
        """Whether ours are the shorter step times: HOLDS, FAILS, UNDECIDED or MISSING."""
        if self.ratio != self.ratio:
            return MISSING
        low, high, _ = self.interval
        if low != low or self.interval.is_range:
            return UNDECIDED
        if high < 1:
            return HOLDS
        return FAILS if low > 1 else UNDECIDED


class Searches:
    """The records, asked by task, placer and budget."""

    def __init__(self, records: pd.DataFrame) -> None:
        """``records``: rows of :func:`suite.report.load_records.load_records`, of all grids."""
        kept = records[records["grid"].isin([GRID, *OTHERS]) & (records["machine"] == "k40")]
        judged = kept["status"].isin(["ok", "oom"])
        self.own = kept[kept["grid"].isin([GRID, *RIVALS])]
        """The records of the grids that are for this comparison, failed ones included."""
        self.records = kept[judged & kept["placer"].isin(list(PLACERS))]
        self._cells = dict(iter(self.records.groupby(["task", "gpus", "placer", "grid"])))

    def at(self, task: Task, placer: str, budget: int) -> Found:
        """What a placer had found after ``budget`` placements, a value a seed."""
        for grid in (GRID, *OTHERS):
            cell = self._cells.get((task.name, task.gpus, placer, grid))
            if cell is not None:
                long = cell[cell["evaluations"] >= budget]
                if len(long):
                    return Found(tuple(best_at(h, budget) for h in long["history"]))
        return Found(())

    def duel(self, task: Task, ours: str, theirs: str, budget: int) -> Duel:
        """One placer against another."""
        return Duel(self.at(task, ours, budget), self.at(task, theirs, budget))

    def missing(self) -> Iterator[tuple[Task, str, int]]:
        """Task, label and number of the two grids' cells without a record."""
        names = ("task", "gpus", "placer", "seed")
        known = set(zip(*(self.own[name] for name in names), strict=True))
        absent = [
            (Task(cell.task, cell.gpus), cell.placer)
            for cell in own_cells()
            if (cell.task, cell.gpus, cell.placer, cell.seed) not in known
        ]
        for (task, placer), count in Counter(absent).items():
            yield task, placer, count


def best_at(history: list[tuple[int, float, float]], budget: int) -> float:
    """The best step time after ``budget`` placements, in seconds; infinite before the first fit."""
    return min((seconds for number, _, seconds in history if number <= budget), default=inf)


def bracketed(interval: Interval) -> str:
    """Behind a number: its interval in square brackets, called a range where it is one."""
    low, high, _ = interval
    return f" [{'range ' * interval.is_range}{low:.3f}-{high:.3f}]" if low == low else ""
