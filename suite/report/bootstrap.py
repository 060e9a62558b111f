"""Bootstrap intervals of a median, or of a ratio of two: how sure a number is, given its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from suite.core.arrays import Floats

RESAMPLES = 10_000
LEVEL = 0.95
SEED = 0
"""Fixed: the same values give the same interval on every machine."""


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap of the median (Efron 1979): (low, high) at LEVEL, in the values' unit.

    The order of ``values`` does not matter. Not a number for fewer than two values: one seed says
    nothing about its spread.
    """
    if len(values) < 2:
        return nan, nan
    return _middle(_medians(values, np.random.default_rng(SEED)))


def ratio_interval(values: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Percentile bootstrap of median(values) / median(others), each side resampled by itself.

    (low, high) at LEVEL. Not a number when a side has fewer than two values.
    """
    if min(len(values), len(others)) < 2:
        return nan, nan
    rng = np.random.default_rng(SEED)
    return _middle(_medians(values, rng) / _medians(others, rng))


def _medians(values: Sequence[float], rng: np.random.Generator) -> Floats:
    """Medians of RESAMPLES resamples, float64[RESAMPLES]."""
    ordered = np.sort(np.asarray(values, np.float64))
    draws = rng.integers(0, len(ordered), (RESAMPLES, len(ordered)))
    return np.asarray(np.median(ordered[draws], axis=1), np.float64)


def _middle(drawn: Floats) -> tuple[float, float]:
    # Nearest ranks: an interval between values that were drawn, never between two of them.
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return float(low), float(high)
