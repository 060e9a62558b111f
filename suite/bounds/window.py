"""The window bound: a release time, the work that fits between, shared out, a delivery time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import Alike
from suite.bounds.load_balance import Load, priced
from suite.core.arrays import Floats
from suite.core.problem import Problem

THRESHOLDS = 96
"""Release times, and delivery times, tried."""
_FACTORS = (0.0625, 0.125, 0.25, 0.5, 0.7, 0.85, 1.2, 1.4, 2.0, 4.0, 8.0, 16.0)


def window_bound(
    problem: Problem,
    durations: NDArray[np.int64],
    release: NDArray[np.int64],
    delivery: NDArray[np.int64],
    alike: Alike,
) -> float:
    """max over thresholds (a, b) of a + b + load of the operations of release >= a, delivery >= b.

    ``durations`` is int64[ops, kinds], 0 where not allowed; ``release`` and ``delivery`` are
    int64[ops]; all in nanoseconds, like the result. The best pair is looked for with a few prices,
    cheaply, then its load program is solved. A pair that no operation meets proves nothing and is
    left out.
    """
    load = Load.of(problem, durations, alike)
    early, late = _thresholds(release), _thresholds(delivery)
    shape = (len(early), len(late))
    cell = np.searchsorted(early, release, "right") - 1
    cell = cell * len(late) + np.searchsorted(late, delivery, "right") - 1
    allowed = problem.allowed[:, alike.firsts[load.firsts]][problem.graph.colocation]
    work = np.where(allowed, durations[:, load.firsts], np.inf)
    shared = np.zeros(shape)
    for price in _prices(load):
        shared = np.maximum(shared, _at_least(cell, priced(price, work).min(axis=1), shape))
    met = _at_least(cell, np.ones(len(release)), shape) > 0
    total = np.where(met, early[:, None] + late + shared, 0.0)
    a, b = np.unravel_index(int(np.argmax(total)), shape)
    first, last = int(early[a]), int(late[b])
    inside = (release >= first) & (delivery >= last)
    within = Load.of(problem, np.where(inside[:, None], durations, 0), alike)
    return first + last + within.least()[0]


def _thresholds(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct values at even ranks, the smallest among them."""
    ranks = np.linspace(0, len(values) - 1, THRESHOLDS).astype(np.int64)
    return np.unique(np.sort(values)[ranks])


def _prices(load: Load) -> list[Floats]:
    """Prices around those of the whole graph, for parts of it with another mix of work."""
    _, price = load.least()
    candidates = [price, np.ones(len(price))]
    for group in range(len(price) if len(price) > 1 else 0):
        for factor in _FACTORS:
            scaled = price.copy()
            scaled[group] *= factor
            candidates.append(scaled)
    return [c / float(c @ load.sizes) for c in candidates if float(c @ load.sizes) > 0]


def _at_least(cell: NDArray[np.int64], values: Floats, shape: tuple[int, int]) -> Floats:
    """Sums of ``values`` over the cells at or beyond each cell, in both directions."""
    sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1]).reshape(shape)
    return np.asarray(sums[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1], np.float64)
