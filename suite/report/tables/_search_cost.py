"""What searches cost until they were as fast as another planner's end, for any table of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import isinf, isnan, nan
from statistics import geometric_mean, median_low

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.outcome import JUDGED, NOT_GIVEN, Printed
from suite.report.table import Section
from suite.report.tables._data import Entry
from suite.report.until import History, median_until, printed, seconds_until, until


@dataclass(frozen=True)
class Unit:
    """What a search's cost is counted in."""

    name: str
    """The unit in the CSV file, and in the head of a column."""
    until: Callable[[History, float], float]
    whole: str
    """The column of the records with the cost of the whole search."""
    format: Callable[[float], str]


PLACEMENTS = Unit("placements", until, "evaluations", printed)
SECONDS = Unit("seconds", seconds_until, "wall_seconds", metric("wall_seconds").format)


@dataclass(frozen=True)
class Cost:
    """What a planner's searches of one graph cost until they were as fast as a target."""

    median: float
    """The cost at which half of the seeds were as fast; infinite where fewer ever were, NaN
    without a record or a target."""
    least: float
    """The median, or where that is infinite a cost that it is not below: of seeds that never were
    as fast, the whole search's counts."""
    reached: int
    """Seeds that were as fast."""
    seeds: int

    @classmethod
    def of(cls, records: pd.DataFrame, wanted: float, unit: Unit) -> Cost:
        """Of the records of one planner and graph, to a step time of ``wanted`` seconds.

        A seed that failed is none of them: it tells nothing of what a whole search finds.
        """
        records = records[records["status"].isin(JUDGED)]
        histories: list[History] = [list(history) for history in records["history"]]
        costs = [unit.until(history, wanted) for history in histories]
        whole = [float(spent) for spent in records[unit.whole]]
        known = [w if isinf(cost) else cost for cost, w in zip(costs, whole, strict=True)]
        middle = median_until(histories, wanted, unit.until)
        least = median_low(known) if isinf(middle) else middle
        return cls(middle, least, sum(not isinf(cost) for cost in costs), len(costs))

    def text(self, unit: Unit) -> str:
        """The cost, and how many of the seeds got there."""
        if isnan(self.median):
            return "missing"
        cost = "not reached" if isinf(self.median) else unit.format(self.median)
        return f"{cost}, {self.reached} of {self.seeds}"


@dataclass(frozen=True)
class CostRatio:
    """How many times the cost of another planner the base's is."""

    value: float
    """Zero where only the other never was as fast, infinite where only the base; NaN where nothing
    is known."""
    most: float
    """What the ratio is at most: where the other never was as fast, by its whole search."""

    @classmethod
    def of(cls, base: Cost, other: Cost) -> CostRatio:
        """``base`` over ``other``."""
        if isinf(base.median) and isinf(other.median):
            return cls(nan, nan)
        return cls(_over(base.median, other.median), _over(base.median, other.least))

    @property
    def is_bound(self) -> bool:
        """Whether no more is known than what it is at most."""
        return self.value != self.most

    def text(self) -> str:
        """As tables print it."""
        if isnan(self.most):
            return "missing"
        if isinf(self.most):
            return "not reached"
        return f"{'< ' * self.is_bound}{times(self.most)}"


def times(ratio: float) -> str:
    """A ratio with no more digits than say something."""
    if ratio < 10:
        return f"x{metric('search_speedup').format(ratio)}"
    return f"x{ratio:.1f}" if ratio < 100 else f"x{ratio:,.0f}"


def _over(base: float, other: float) -> float:
    return base / other if other else nan


@dataclass(frozen=True, eq=False)
class SearchCost:
    """What the searches of several planners cost until they were as fast as the base's end."""

    ours: Comparison
    base: str
    """The planner whose median step time over seeds is the target."""
    others: Mapping[str, str]
    """Planner -> its head, without the base."""
    head: str
    """The base's."""

    def target(self, row: Row) -> float:
        """The base's median step time in seconds."""
        return self.ours.ours(row, self.base).median

    def cost(self, row: Row, placer: str, unit: Unit) -> Cost:
        """What one planner's searches of one graph cost."""
        return Cost.of(self.ours.of_cell(row, placer), self.target(row), unit)

    def ratio(self, row: Row, placer: str, unit: Unit) -> CostRatio:
        """The base's cost over another planner's."""
        return CostRatio.of(self.cost(row, self.base, unit), self.cost(row, placer, unit))

    def ratios(self, placer: str, unit: Unit) -> list[CostRatio]:
        """Those that are known, over the graphs."""
        every = (self.ratio(row, placer, unit) for row in self.ours.rows)
        return [ratio for ratio in every if not isnan(ratio.most)]

    def section(
        self, unit: Unit, title: str, lead: str, theirs: Mapping[Row, Printed] | None = None
    ) -> Section:
        """A row a graph; ``theirs`` are published ratios of the base to the first other, if any."""
        first = next(iter(self.others))
        placers = {self.base: self.head, **self.others}
        rows = []
        for row in self.ours.rows:
            target = self.target(row)
            cells = [metric("step_time").format(target) if target == target else "missing"]
            cells += [self.cost(row, placer, unit).text(unit) for placer in placers]
            for placer in self.others:
                cells.append(self.ratio(row, placer, unit).text())
                if theirs is not None and placer == first:
                    cells[-1] += f" (x{theirs.get(row, NOT_GIVEN).text})"
            rows.append((f"{row.label} ({row.gpus})", *cells))
        means = [self.mean_text(placer, unit) for placer in self.others]
        reached = [self._reached(placer, unit) for placer in placers]
        rows.append(("GEOMEAN of ratios; graphs reached", "-", *reached, *means))
        header = (
            *("Model (#devices)", f"{self.head}'s end, s a step"),
            *(f"{head}, {unit.name}" for head in placers.values()),
            *(f"{self.head} / {head}" for head in self.others.values()),
        )
        return Section(title, header, tuple(rows), lead)

    def _reached(self, placer: str, unit: Unit) -> str:
        costs = [self.cost(row, placer, unit).median for row in self.ours.rows]
        known = [cost for cost in costs if not isnan(cost)]
        return f"{sum(not isinf(cost) for cost in known)} of {len(known)}" if known else "missing"

    def mean_text(self, placer: str, unit: Unit) -> str:
        """The geometric mean of the ratios, by what they are at most."""
        ratios = self.ratios(placer, unit)
        known = [ratio.most for ratio in ratios if ratio.most > 0 and not isinf(ratio.most)]
        if not known:
            return "missing"
        sign = "< " * any(ratio.is_bound for ratio in ratios)
        return f"{sign}{times(geometric_mean(known))} of {len(known)}"

    def entries(self, *units: Unit) -> Iterator[Entry]:
        """The rows of the CSV file; ``n`` is the number of seeds that were as fast."""
        for row in self.ours.rows:
            key = {"task": row.task, "gpus": row.gpus}
            for unit in units:
                for placer in (self.base, *self.others):
                    cost = self.cost(row, placer, unit)
                    yield {
                        **{**key, "column": placer, "unit": unit.name, "n": cost.reached},
                        **{"metric": f"{unit.name}_until_{self.base}", "value": cost.median},
                    }
                for placer in self.others:
                    ratio = self.ratio(row, placer, unit)
                    yield {
                        **{**key, "column": placer, "high": ratio.most, "value": ratio.value},
                        "metric": f"ratio_of_{unit.name}_until_{self.base}",
                    }
