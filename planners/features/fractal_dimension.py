"""How fast the surroundings of a node grow: its fractal dimension."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from suite.core.arrays import Floats, Ints

_CELLS = 2_000_000
"""Distances held at a time."""


def fractal_dimensions(count: int, sources: Ints, targets: Ints) -> Floats:
    """float64[count]: the slope of log N(v, r) over log r, fitted by least squares.

    N(v, r) is the number of other nodes at most r hops from v, directions ignored, for every r up
    to the farthest node that can be reached (HSDAG, Duan et al., NeurIPS 2024, section 2). 0 where
    that is less than two hops away. Edges are int[edges] each.
    """
    result = np.zeros(count)
    weights = np.ones(len(sources))
    edges = csr_array((weights, (sources, targets)), shape=(count, count))
    rows = max(1, _CELLS // max(1, count))
    for start in range(0, count, rows):
        nodes = np.arange(start, min(count, start + rows))
        hops = shortest_path(edges, "D", directed=False, unweighted=True, indices=nodes)
        for node, row in zip(nodes, hops, strict=True):
            result[node] = _slope(row)
    return result


def _slope(hops: Floats) -> float:
    """Of one node, from float64[count] hops to every other, infinite where there is no path."""
    near = hops[np.isfinite(hops) & (hops > 0)].astype(np.int64)
    within = np.cumsum(np.bincount(near))[1:]
    if len(within) < 2:
        return 0.0
    x, y = np.log(np.arange(1, len(within) + 1)), np.log(within)
    away = x - x.mean()
    return float(away @ (y - y.mean()) / (away @ away))
