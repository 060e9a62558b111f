"""What a paper says of all graphs at once, beside ours: means, medians, intervals, verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isinf, isnan, nan
from statistics import median

from suite.core.statistics import median_interval
from suite.report.metrics import metric
from suite.report.outcome import NOT_GIVEN, Outcome, Printed
from suite.report.post import FAILS, HOLDS, MISSING, UNDECIDED
from suite.report.table import Section
from suite.report.tables._data import Entry
from suite.report.tables._gains import as_reduction, mean_gain, over_new
from suite.report.tables._search_cost import times

NOT_TRIED = "not tried"
PAPER = "the paper"
"""What the column of planners says where the cells are those that the paper prints."""
ROUNDED = 0.01
"""By how much of it a published figure may be rounded."""
RULE = (
    "By the mean over graphs, and the interval of the median: holds where all of the interval is"
    " above zero and the mean reaches the published figure, itself a mean, to within 1 % (it is"
    " rounded); does not hold where all of the interval, and the mean, are below that figure; else"
    " undecided. Without a published figure, holds where all of the interval is above zero, does"
    " not where all is below."
)
"""How :func:`verdict` decides, in words."""


@dataclass(frozen=True)
class Scale:
    """How tables print a gain over something."""

    number: Callable[[float], str]
    unit: str = ""
    value: Callable[[float], float] = float
    """What is printed of a gain, as a number: the gain itself, unless said otherwise."""

    def text(self, gain: float) -> str:
        """With its unit; OOM where the other found nothing that fits in memory."""
        return self.bare(gain) + self.unit * (not isinf(gain))

    def bare(self, gain: float) -> str:
        """Without its unit."""
        return "OOM" if isinf(gain) else self.number(self.value(gain))


PERCENT = Scale(metric("speedup").format, " %")
TIMES = Scale(lambda gain: times(1 + gain / 100))
"""For ratios, which are gains of 100 times the ratio less 1."""
LESS = Scale(metric("runtime_reduction").format, " %", as_reduction)
"""For how much less the new is than the base, as a share of the base."""


def seconds(outcome: Outcome) -> float:
    """The median step time; infinite where it runs out of memory, NaN where nothing is known."""
    return inf if outcome.status == "oom" else outcome.median


def gain_over(base: float, new: float) -> float:
    """By :func:`over_new`, of times that may be infinite.

    -100 where only ``new`` is, infinite where only ``base`` is, NaN where both are.
    """
    if isinf(new):
        return -100.0 if base < inf else nan
    return over_new(base, new)


def known(gains: Iterable[float]) -> list[float]:
    """Those that are numbers."""
    return [gain for gain in gains if not isnan(gain)]


def mean(gains: Iterable[float]) -> float:
    """:func:`mean_gain` of those where both found something that fits; NaN without any."""
    both = [gain for gain in gains if -100 < gain < inf]
    return mean_gain(both) if both else nan


def average(gains: Sequence[float], scale: Scale = PERCENT) -> tuple[str, str, str]:
    """Three cells: the mean, the median with its interval, and how many gains are above zero."""
    if not gains:
        return MISSING, MISSING, MISSING
    low, high, level = median_interval(gains)
    ends = f" [{scale.bare(low)} to {scale.bare(high)}; {level:.0%}]" if level == level else ""
    wins = f"{sum(gain > 0 for gain in gains)} of {len(gains)}"
    middle = mean(gains)
    shown = scale.text(middle) if middle == middle else "-"
    return shown, f"{scale.text(median(gains))}{ends}", wins


def verdict(gains: Sequence[float], target: float) -> str:
    """Of a published mean; without one (NaN), of whether there is a gain at all."""
    if len(gains) < 2:
        return MISSING
    interval = median_interval(gains)
    if interval.is_range:
        return UNDECIDED
    reached = mean(gains) >= target - ROUNDED * abs(target)
    if interval.high < (target if target == target else 0) and not reached:
        return FAILS
    # A wide interval that ends above the figure decides nothing: the published mean is to be met.
    return HOLDS if interval.low > 0 and (reached or target != target) else UNDECIDED


@dataclass(frozen=True)
class Claim:
    """A row: what a paper says, and the gains of all graphs that it is about."""

    name: str
    """In the CSV file."""
    what: str
    planner: str
    """Whose cells they are."""
    gains: Sequence[float]
    """In percent; NaN where there is none."""
    published: str = "-"
    target: float = nan
    """What ``published`` is in percent."""
    scale: Scale = PERCENT
    least: Sequence[float] | None = None
    """Where gains are not all known exactly: what they are at least."""

    @property
    def verdict(self) -> str:
        """Undecided where it depends on what is not known exactly."""
        ends = [self.gains] if self.least is None else [self.gains, self.least]
        found = {verdict(known(gains), self.target) for gains in ends}
        return found.pop() if len(found) == 1 else UNDECIDED

    @property
    def is_bound(self) -> bool:
        """Whether some of the gains are upper ends."""
        return self.least is not None and known(self.gains) != known(self.least)

    def cells(self) -> tuple[str, ...]:
        """The row as it is printed."""
        shown, middle, wins = average(known(self.gains), self.scale)
        if self.least is not None and self.is_bound:
            shown, middle = f"< {shown}", f"< {middle}"
            wins = average(known(self.least), self.scale)[2]
        return (self.what, self.planner, self.published, shown, middle, wins, self.verdict)

    def entry(self) -> Entry:
        """The row of the CSV file: ``value`` is the mean, in percent; GPUs are 0, of any number.

        Where ``scale`` has numbers of its own for gains, these are the row's.

        The name ends in ``_at_most`` where the numbers are upper ends.
        """
        gains, name = known(self.gains), f"claim_{self.name}{'_at_most' * self.is_bound}"
        low, high, level = median_interval(gains)
        ends = {"low": self.scale.value(low), "high": self.scale.value(high), "level": level}
        return {
            **{"task": "all", "gpus": 0, "column": self.planner, "metric": name, "unit": "%"},
            **{"status": self.verdict, "n": len(gains)},
            "value": self.scale.value(mean(gains)),
            **{f"interval_{name}": value for name, value in ends.items()},
            **{"published": self.published},
        }


def from_cells(name: str, what: str, cells: Iterable[float], *more: Claim) -> list[Claim]:
    """A claim that the paper prints only graph by graph, then ours, held against its mean."""
    printed = known(cells)
    target = mean(printed)
    theirs = PERCENT.text(target) if target == target else "-"
    first = Claim(name, what, PAPER, printed, theirs, target)
    return [first, *(replace(one, published=theirs, target=target) for one in more)]


def percent(theirs: Printed) -> str:
    """A published percentage, as tables of claims print it."""
    return theirs.text + " %" * bool(theirs.digits)


def claims_section(claims: Iterable[Claim], note: int, untried: Iterable[Untried] = ()) -> Section:
    """The claims, then those that nothing here tries; note ``note`` says how they are decided."""
    header = (
        *("the paper's claim", "cells of", "published", "GEOMEAN", "median [interval over graphs]"),
        *("better on", f"verdict [{note}]"),
    )
    rows = [claim.cells() for claim in claims]
    rows += [(one.what, "-", one.published, "-", "-", "-", NOT_TRIED) for one in untried]
    return Section("The published claims", header, tuple(rows))


@dataclass(frozen=True)
class Untried:
    """A claim that nothing here tries."""

    what: str
    theirs: Printed = NOT_GIVEN
    is_ratio: bool = False

    @property
    def published(self) -> str:
        """The published figure."""
        return f"x{self.theirs.text}" if self.is_ratio else percent(self.theirs)
