"""Devices drawn by their chances."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats


def draw(chances: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    """One device of each row of float64[rows, devices]: int64[rows]."""
    below = chances.cumsum(axis=1)[:, :-1] / chances.sum(axis=1, keepdims=True)
    return np.asarray((rng.random((len(chances), 1)) >= below).sum(axis=1), np.int64)
