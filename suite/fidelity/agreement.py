"""How well simulated step times agree with measured ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from suite.core.arrays import Floats


@dataclass(frozen=True, eq=False)
class Pairs:
    """Step times in seconds of the same placements, float64[placements]."""

    simulated: Floats
    measured: Floats
    """Medians."""
    low: Floats
    high: Floats
    """Interval of each measured median."""

    def only(self, chosen: Any) -> Pairs:
        """Those that ``chosen`` (bool[placements] or indices) picks."""
        return Pairs(
            self.simulated[chosen], self.measured[chosen], self.low[chosen], self.high[chosen]
        )


@dataclass(frozen=True)
class Agreement:
    """The figures of merit; NaN where there are too few placements to have one."""

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
    from scipy.stats import rankdata

    constant = any(np.ptp(times) == 0 for times in (simulated, measured) if len(times))
    if len(simulated) < 3 or constant:
        return nan
    return float(np.corrcoef(rankdata(simulated), rankdata(measured))[0, 1])


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
