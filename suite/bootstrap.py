"""Bootstrap intervals of a median: how sure a learned placer's cell is, given its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

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
    ordered = np.sort(np.asarray(values, np.float64))
    draws = np.random.default_rng(SEED).integers(0, len(ordered), (RESAMPLES, len(ordered)))
    medians = np.median(ordered[draws], axis=1)
    # Nearest ranks: an interval between medians that were drawn, never between two of them.
    low, high = np.quantile(medians, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return float(low), float(high)
