"""Statistics of few and noisy step times: intervals that keep their word, and how orders agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, nan, sqrt
from typing import NamedTuple

import numpy as np

from suite.core.arrays import Bools, Floats, Ints

LEVEL = 0.95
"""The least that an interval promises; what promises less is called a range."""


class Interval(NamedTuple):
    """Where a median, or a ratio, lies."""

    low: float
    high: float
    level: float
    """Chance that such an interval holds the true value: exact for continuous values, at least
    that with ties."""

    @property
    def is_range(self) -> bool:
        """Whether there are too few values for LEVEL, so that it spans all of them."""
        return self.level < LEVEL


NO_INTERVAL = Interval(nan, nan, nan)
"""Of a single value, which says nothing about its spread."""


def median_level(count: int) -> float:
    """The level of :func:`median_interval` of so many values; NaN below two."""
    from scipy.stats import binom  # takes longer to load than all else that runs a cell

    return 1 - 2 * float(binom.cdf(_left_out(count), count, 0.5)) if count > 1 else nan


def median_interval(values: Sequence[float]) -> Interval:
    """Interval of the median between two of the values, whatever their distribution.

    As many values are left out at either end as LEVEL allows, none below six values (David and
    Nagaraja, Order Statistics, 2003, section 7.1). ``NO_INTERVAL`` for fewer than two values.
    """
    if len(values) < 2:
        return NO_INTERVAL
    ordered, out = np.sort(np.asarray(values, np.float64)), _left_out(len(values))
    return Interval(float(ordered[out]), float(ordered[-1 - out]), median_level(len(values)))


def _left_out(count: int) -> int:
    """Values to leave out at either end of the sorted ones."""
    from scipy.stats import binom

    # The median lies left of the interval when at most that many values are smaller than it.
    return max(0, int(binom.ppf((1 - LEVEL) / 2, count, 0.5)) - 1)


def ratio_estimate(values: Sequence[float], others: Sequence[float]) -> float:
    """How many times ``others`` the ``values`` are: the median of all ratios of one to another.

    The estimate of Hodges and Lehmann (1963) for two samples, on logarithms.
    """
    return float(np.median(_ratios(values, others)))


def ratio_interval(values: Sequence[float], others: Sequence[float]) -> Interval:
    """Interval of :func:`ratio_estimate`, for two distributions that differ by a factor.

    The ratios that a Mann-Whitney test would not reject (Moses' interval: Hollander, Wolfe and
    Chicken, Nonparametric Statistical Methods, 2014, section 4.3), by its exact distribution: no
    resampling, whose intervals of few values are too short. ``NO_INTERVAL`` when a side has fewer
    than two values.
    """
    if min(len(values), len(others)) < 2:
        return NO_INTERVAL
    ratios = np.sort(_ratios(values, others))
    tails = np.cumsum(_mann_whitney(len(values), len(others)))
    out = max(0, int(np.searchsorted(tails, (1 - LEVEL) / 2, side="right")) - 1)
    return Interval(float(ratios[out]), float(ratios[-1 - out]), 1 - 2 * float(tails[out]))


def _ratios(values: Sequence[float], others: Sequence[float]) -> Floats:
    """Every value over every other, float64[values * others]; equal ones are 1, 0 over 0 too."""
    ours, theirs = np.asarray(values, np.float64)[:, None], np.asarray(others, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(ours == theirs, 1.0, ours / theirs), np.float64).ravel()


def _mann_whitney(first: int, second: int) -> Floats:
    """Probabilities of the statistic U from 0 to first * second if both samples are alike."""
    most = first * second
    counts = [1] + [0] * most
    # The counts are the coefficients of a Gaussian binomial: multiplied by 1 - q^(first + i) and
    # divided by 1 - q^i for every i, in place and in whole numbers.
    for i in range(1, second + 1):
        for u in range(most, first + i - 1, -1):
            counts[u] -= counts[u - first - i]
        for u in range(i, most + 1):
            counts[u] += counts[u - i]
    return np.array([count / comb(first + second, second) for count in counts])


class OrderAgreement(NamedTuple):
    """Two orders of the same things, pair by pair."""

    tau: float
    """Kendall's tau-b (Kendall 1945): 1 the same order, -1 reversed; NaN if either is all ties."""
    pairs: int
    """Pairs that both orders decide."""
    reversed: int
    """Pairs that the two decide differently."""


def order_agreement(ours: Sequence[float], theirs: Sequence[float]) -> OrderAgreement:
    """Compare two sequences of equal length by value; equal values are ties."""
    first, second = np.triu_indices(len(ours), 1)
    signs = [np.sign(np.subtract(o[first], o[second])) for o in map(np.asarray, (ours, theirs))]
    both = signs[0] * signs[1]
    # From the counts, not by scipy's kendalltau: its quotient of two roots says 0.9999999999999999
    # of equal orders.
    scale = sqrt(np.abs(signs[0]).sum() * np.abs(signs[1]).sum())
    tau = float(both.sum()) / scale if scale else nan
    return OrderAgreement(tau, int(np.abs(both).sum()), int((both < 0).sum()))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Step times in seconds of the same placements, float64[placements]."""

    simulated: Floats
    measured: Floats
    """Medians."""
    low: Floats
    high: Floats
    """Interval of each measured median."""

    def only(self, chosen: Bools | Ints) -> Pairs:
        """Those that ``chosen`` (bool[placements] or indices) picks."""
        return Pairs(
            self.simulated[chosen], self.measured[chosen], self.low[chosen], self.high[chosen]
        )


@dataclass(frozen=True)
class Agreement:
    """The figures of merit of a simulator; NaN where there are too few placements to have one."""

    placements: int
    spearman: float
    """Rank correlation (Spearman 1904)."""
    kendall: float
    """Tau over the pairs apart: (concordant - discordant) / pairs; a simulated tie is neither."""
    pairs_apart: int
    """Pairs whose measured intervals do not overlap: further apart than the noise."""
    median_absolute_percentage_error: float
    """Median of 100 |simulated - measured| / measured."""

    def as_json(self) -> dict[str, float | int | None]:
        """The fields; null for NaN."""
        return {k: None if v != v else v for k, v in vars(self).items()}


def agreement(pairs: Pairs) -> Agreement:
    """Compare simulated with measured step times."""
    tau, apart = kendall_apart(pairs)
    count = len(pairs.measured)
    error = float(np.median(percentage_errors(pairs))) if count else nan
    return Agreement(count, spearman(pairs.simulated, pairs.measured), tau, apart, error)


def spearman(simulated: Floats, measured: Floats) -> float:
    """Correlation of ranks, ties at their mean; NaN for fewer than three or for a constant."""
    if len(simulated) < 3 or np.ptp(simulated) == 0 or np.ptp(measured) == 0:
        return nan
    from scipy.stats import spearmanr

    return float(spearmanr(simulated, measured).statistic)


def kendall_apart(pairs: Pairs) -> tuple[float, int]:
    """Kendall's tau over the pairs whose measured intervals do not overlap, and their number."""
    first, second = np.triu_indices(len(pairs.measured), 1)
    apart = (pairs.high[first] < pairs.low[second]) | (pairs.high[second] < pairs.low[first])
    first, second = first[apart], second[apart]
    agree = np.sign(pairs.measured[first] - pairs.measured[second]) * np.sign(
        pairs.simulated[first] - pairs.simulated[second]
    )
    return (float(agree.mean()) if len(agree) else nan), len(agree)


def percentage_errors(pairs: Pairs) -> Floats:
    """float64[placements]: 100 |simulated - measured| / measured."""
    return np.asarray(100 * np.abs(pairs.simulated - pairs.measured) / pairs.measured, np.float64)
