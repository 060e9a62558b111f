"""What graphs must be like before native partitioners see them: they crash on others."""

from __future__ import annotations

import numpy as np

from baselines.partitioning.class_graph import MAX_LOAD
from suite.core.arrays import Ints


def check_arcs(offsets: Ints, neighbours: Ints, loads: Ints, edge_loads: Ints) -> None:
    """Raise ValueError unless this is a simple symmetric graph with loads Scotch can add up."""
    n, arcs = len(offsets) - 1, len(neighbours)
    if n < 1 or offsets[0] != 0 or offsets[-1] != arcs or (np.diff(offsets) < 0).any():
        raise ValueError(f"row offsets do not run from 0 to the number of arcs, {arcs}")
    if len(loads) != n or len(edge_loads) != arcs:
        raise ValueError(f"{len(loads)} loads for {n} vertices, {len(edge_loads)} for {arcs} arcs")
    if arcs and (neighbours.min() < 0 or neighbours.max() >= n):
        raise ValueError(f"an arc leads to a vertex outside 0..{n - 1}")
    sources = np.repeat(np.arange(n), np.diff(offsets))
    if (sources == neighbours).any():
        raise ValueError("a vertex is its own neighbour")
    there, back = sources * n + neighbours, neighbours * n + sources
    if len(np.unique(there)) < arcs:
        raise ValueError("two arcs join the same vertices")
    order, reverse = np.argsort(there), np.argsort(back)
    if (there[order] != back[reverse]).any() or (edge_loads[order] != edge_loads[reverse]).any():
        raise ValueError("an arc and its reverse differ, or one of them is missing")
    for values, what in ((loads, "vertex loads"), (edge_loads, "edge loads")):
        if not np.issubdtype(values.dtype, np.integer):
            raise ValueError(f"{what} are {values.dtype}; Scotch truncates them, scale to integers")
        if (values < 1).any() or int(values.sum()) > MAX_LOAD:
            raise ValueError(f"{what} must be >= 1 and sum to at most {MAX_LOAD}")
