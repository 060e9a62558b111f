"""What a paper's table says a new time gains over a base time, each paper by its own formula."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, nan
from statistics import geometric_mean

from suite.report.comparison import Row
from suite.report.metrics import metric
from suite.report.outcome import Outcome, Printed
from suite.report.tables._data import Entry


def over_base(base: float, new: float) -> float:
    """HDP's formula, in percent: (base - new) / base (Mirhoseini et al. 2018, Tables 1 and 2)."""
    return 100 * (base - new) / base


def over_new(base: float, new: float) -> float:
    """ColocRL's formula, in percent: (base - new) / new (Mirhoseini et al. 2017, Table 2)."""
    return 100 * (base - new) / new


def as_reduction(gain: float) -> float:
    """What :func:`over_base` says where :func:`over_new` says ``gain``; both in percent."""
    return -inf if gain <= -100 else 100 * (1 - 1 / (1 + gain / 100))


def as_gain(reduction: float) -> float:
    """What :func:`over_new` says where :func:`over_base` says ``reduction``, below 100 percent."""
    return reduction / (1 - reduction / 100)


def mean_gain(gains: Iterable[float]) -> float:
    """Geometric mean of base / new over gains by :func:`over_new`, in percent, less 1."""
    return 100 * (geometric_mean(1 + gain / 100 for gain in gains) - 1)


def fastest(outcomes: Iterable[Outcome]) -> float:
    """The smallest median, in seconds; NaN when none has a valid record."""
    return min((o.median for o in outcomes if o.values), default=nan)


@dataclass(frozen=True)
class Gain:
    """One cell of a column of gains."""

    row: Row
    name: str
    """Its metric, which is also its column in the published tables."""
    value: float
    """In percent; NaN where a time is missing."""
    theirs: Printed

    def text(self, new: Outcome) -> str:
        """Print it beside the published one; in its place, what became of ``new``'s records."""
        ours = f"{metric(self.name).format(self.value)}%"
        if self.value != self.value:
            ours = "no base" if new.values else new.learned_text(metric("step_time"))
        return f"{ours} ({self.theirs.text}{'%' * bool(self.theirs.digits)})"

    def entry(self) -> Entry:
        """The row of the CSV file."""
        return {
            **{"task": self.row.task, "gpus": self.row.gpus, "metric": self.name},
            **{"unit": metric(self.name).unit, "value": self.value},
            **{"published": self.theirs.digits, "published_status": self.theirs.status},
        }
