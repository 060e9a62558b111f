"""What became of one task under one placer, over all seeds, beside what a paper prints for it."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from math import nan
from typing import Any

import pandas as pd

from suite.core.statistics import Interval, median_interval
from suite.report.metrics import Metric
from suite.report.table import PrintedCell

WORDS = {"oom": "OOM", "timeout": "time-out", "not_given": "-", "not_run": "not run"}
"""What tables print for a status, where it is not the status itself."""
JUDGED = ("ok", "oom")
"""Statuses of a record whose placer came to its end: what it spent and tells is of all of it."""


def word(status: str) -> str:
    """The word a table prints for a status."""
    return WORDS.get(status, status)


def middle(records: pd.DataFrame) -> pd.Series:
    """The record with status ok whose step time is nearest to their median; the first of any."""
    valid = records[records["status"] == "ok"]
    if valid.empty:
        return records.iloc[0]
    apart = (valid["step_time"] - valid["step_time"].median()).abs()
    return valid.iloc[int(apart.to_numpy().argmin())]


@dataclass(frozen=True)
class Outcome:
    """The records of one task and placer, reduced to what a cell prints."""

    values: tuple[float, ...]
    """Step times in seconds of the records with status ok, ascending."""
    samples: tuple[float, ...]
    """Every single measurement behind them, ascending."""
    failures: tuple[str, ...]
    """Statuses of the other records, most frequent first."""
    expected: int
    """Records there should be; 0 where the placer is not part of the grid."""

    @classmethod
    def of(cls, records: pd.DataFrame, expected: int) -> Outcome:
        """Reduce ``records``, all of one task and placer."""
        valid = records[records["status"] == "ok"]
        failed = [str(s) for s in records["status"] if s != "ok"]
        order = Counter(failed)
        return cls(
            tuple(sorted(float(v) for v in valid["step_time"])),
            tuple(sorted(float(v) for times in valid["step_times"] for v in times)),
            tuple(sorted(failed, key=lambda s: (-order[s], s))),
            expected,
        )

    @property
    def found(self) -> int:
        """Number of records."""
        return len(self.values) + len(self.failures)

    @property
    def status(self) -> str:
        """``ok`` when any record is; else the commonest failure; else ``missing``, ``not_run``."""
        if self.found:
            return "ok" if self.values else self.failures[0]
        return "missing" if self.expected else "not_run"

    @property
    def median(self) -> float:
        """Median step time in seconds of the valid records; NaN when there is none."""
        return statistics.median(self.values) if self.values else nan

    @property
    def interval(self) -> tuple[float, float]:
        """Smallest and largest single measurement, in seconds; NaN when there is none."""
        return (self.samples[0], self.samples[-1]) if self.samples else (nan, nan)

    @property
    def confidence(self) -> Interval:
        """Interval of the median over seeds, in seconds, or their range; NaN for one seed."""
        return median_interval(self.values)

    @property
    def counts(self) -> str:
        """The valid records counted, then the failures."""
        lost = [f"{n} {word(s)}" for s, n in Counter(self.failures).items()]
        return ", ".join([f"n={len(self.values)}", *lost])

    def text(self, metric: Metric) -> str:
        """Print the cell: a value, a median with spread and n, or the word of the failure."""
        if not self.values or self.found == 1:
            return self._single(metric)
        low, high = metric.format(self.values[0]), metric.format(self.values[-1])
        return f"{metric.format(self.median)} [{low}-{high}, {self.counts}]"

    def learned_text(self, metric: Metric) -> str:
        """Print the cell of a placer that learns: median [interval or range], best seed, n."""
        if not self.values or self.found == 1:
            return self._single(metric)
        low, high, _ = self.confidence
        ends = f"{'range ' * self.confidence.is_range}{metric.format(low)}-{metric.format(high)}"
        interval = f" [{ends}]" if len(self.values) > 1 else ""
        printed = f"{metric.format(self.median)}{interval}"
        return f"{printed}, best {metric.format(self.values[0])}, {self.counts}"

    @property
    def details(self) -> tuple[str, ...]:
        """What a cell has no room for: the median with more digits, its range, the failures."""
        lost = [f"{n} {word(s)}" for s, n in Counter(self.failures).items()]
        if not self.values:
            return (f"ours: {', '.join(lost) or word(self.status)}",)
        many = f" (median of {len(self.values)} seeds)" if len(self.values) > 1 else ""
        low, high = self.interval
        spread = () if low == high else (f"from {low:.5g} s to {high:.5g} s",)
        return (f"ours: {self.median:.5g} s{many}", *spread, *(f"and {text}" for text in lost))

    def _single(self, metric: Metric) -> str:
        """The one value, or the failures; their number where they differ."""
        if self.values:
            return metric.format(self.median)
        lost = [f"{n} {word(s)}" for s, n in Counter(self.failures).items()]
        return ", ".join(lost) if len(lost) > 1 else word(self.status)


@dataclass(frozen=True)
class Printed:
    """One cell of a paper's table."""

    digits: str
    """As printed; empty where the paper prints no number."""
    value: float
    status: str
    """``ok``, ``oom``, ``not_given``."""

    @classmethod
    def of(cls, published: pd.DataFrame, task: str, column: str) -> Printed:
        """Pick a cell from the rows of one table of one paper; ``not_given`` if it has none."""
        rows = published[(published["task"] == task) & (published["column"] == column)]
        return NOT_GIVEN if rows.empty else cls.in_row(rows.iloc[0])

    @classmethod
    def in_row(cls, row: pd.Series[Any]) -> Printed:
        """The cell in a row of :func:`suite.report.load_records.load_published`."""
        return cls(str(row["printed"]), float(row["value"]), str(row["status"]))

    @property
    def text(self) -> str:
        """The digits, or the paper's word."""
        return self.digits or word(self.status)


NOT_GIVEN = Printed("", nan, "not_given")
"""Where a paper has no such cell."""


def ratio(ours: Outcome, theirs: Printed) -> float:
    """Our median / the published value; NaN when either is no number."""
    return ours.median / theirs.value


def beside(number: str, ours: Outcome, theirs: Printed, best: bool = False) -> PrintedCell:
    """Print ``number``, ours, then in brackets the published value and ours / published."""
    number = f"**{number}**" if best else number
    times = ratio(ours, theirs)
    known = times == times
    text = f"{number} ({theirs.text}, x{times:.2f})" if known else f"{number} ({theirs.text})"
    compared = (f"ours / published: {times:.4g}",) if known else ()
    return PrintedCell(text, ours.median, (*ours.details, f"published: {theirs.text}", *compared))


def best_of(outcomes: dict[str, Outcome], metric: Metric) -> str:
    """Name the one outcome whose interval beats every other's; empty when intervals overlap."""
    valid = {name: o for name, o in outcomes.items() if o.values}
    for name, ours in valid.items():
        others = [o for other, o in valid.items() if other != name]
        beaten = [metric.interval_beats(ours.interval, o.interval) for o in others]
        if others and all(beaten):
            return name
    return ""
