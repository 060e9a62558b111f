"""Best step time so far over several seeds, as one median curve with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Vector = NDArray[np.float64]
EVALUATIONS, SECONDS = 0, 1
"""Columns of a history, whose third is the best step time in seconds."""


@dataclass(frozen=True, eq=False)
class Curves:
    """Best step times over the seeds where any of them improved, and where the last one ended."""

    at: Vector
    """float64[points], ascending: evaluated placements, or seconds."""
    median: Vector
    """float64[points], seconds; infinite where half of the seeds have found nothing that fits."""
    low: Vector
    """float64[points], seconds: the best seed."""
    high: Vector
    """float64[points], seconds: the worst seed; infinite where one has found nothing that fits."""


def curves(records: pd.DataFrame, axis: int) -> Curves:
    """Follow the histories of ``records`` (one cell, a record a seed) along one of the two axes.

    A seed keeps its last value to the right of its end. Empty without a history.
    """
    histories = [np.array(h, np.float64).reshape(-1, 3) for h in records["history"]]
    length = "evaluations" if axis == EVALUATIONS else "wall_seconds"
    if not any(map(len, histories)):
        return Curves(*np.empty((4, 0)))
    ends = records[length].dropna().to_numpy(np.float64)
    at = np.unique(np.concatenate([*(h[:, axis] for h in histories), ends]))
    best = np.stack([_steps(h[:, axis], h[:, 2], at) for h in histories])
    shown = np.isfinite(best.min(axis=0))
    best = best[:, shown]
    return Curves(at[shown], _median(best), best.min(axis=0), best.max(axis=0))


def _steps(when: Vector, values: Vector, at: Vector) -> Vector:
    """The last of ``values`` known at each point, infinite before the first."""
    known = np.searchsorted(when, at, side="right")
    return np.concatenate([[np.inf], values])[known]


def _median(rows: Vector) -> Vector:
    """Median of each column; between a finite and an infinite middle value it is infinite."""
    ordered = np.sort(rows, axis=0)
    middle: Sequence[int] = ((len(rows) - 1) // 2, len(rows) // 2)
    return np.asarray(ordered[list(middle)].mean(axis=0))
