"""The class graph: what a graph partitioner sees of a problem.

Vertices are colocation classes, so that any partition is a valid placement. Directions are dropped
and parallel edges merged. A tensor really travels once per destination device; a graph edge has
two ends only, so here it counts once per class that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints
from suite.core.problem import Problem

MAX_LOAD = 1_000_000_000
"""Ceiling of a sum of integer loads: Scotch overflows silently a little above 2**31."""


@dataclass(frozen=True, eq=False)
class ClassGraph:
    """An undirected graph in compressed rows: every edge appears as two arcs of equal weight."""

    offsets: NDArray[np.int64]
    """int64[vertices + 1]: vertex v has arcs ``offsets[v]:offsets[v + 1]``."""
    neighbours: NDArray[np.int64]
    """int64[arcs]: ascending within a vertex."""
    seconds: Floats
    """float64[arcs]: transfer time of all tensors between the two classes, if they were apart."""

    @property
    def n_vertices(self) -> int:
        """Number of vertices."""
        return len(self.offsets) - 1

    def induced(self, kept: Bools) -> ClassGraph:
        """Return the subgraph of the vertices where ``kept`` (bool[vertices]), renumbered."""
        sources = np.repeat(np.arange(self.n_vertices), np.diff(self.offsets))
        inside = kept[sources] & kept[self.neighbours]
        number = np.cumsum(kept) - 1
        ends = number[sources[inside]], number[self.neighbours[inside]]
        return _rows(*ends, self.seconds[inside], int(kept.sum()))


def class_graph(problem: Problem, devices: Ints) -> ClassGraph:
    """Build the class graph of ``problem``; transfers cost the mean over links among ``devices``.

    A transfer is latency + bytes / bandwidth, so a control edge weighs its latency.
    """
    graph = problem.graph
    tensors, consumers = graph.edges
    n = max(1, graph.n_classes)
    producer_class = graph.colocation[graph.producer].astype(np.int64)
    reader = graph.colocation[consumers].astype(np.int64)
    crossing = producer_class[tensors] != reader
    tensor, target = np.divmod(
        np.unique(tensors[crossing].astype(np.int64) * n + reader[crossing]), n
    )
    source = producer_class[tensor]
    pairs, which = np.unique(
        np.minimum(source, target) * n + np.maximum(source, target), return_inverse=True
    )
    cost = mean_transfer(problem, devices)[tensor]
    seconds = np.bincount(which.reshape(-1), weights=cost, minlength=len(pairs))
    low, high = np.divmod(pairs, n)
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    return _rows(*ends, np.tile(seconds, 2), graph.n_classes)


def integer_loads(seconds: Floats) -> NDArray[np.int64]:
    """Scale times to integers >= 1 whose sum stays below MAX_LOAD, in proportion.

    Equal times give equal loads. Times that are all zero give ones.
    """
    total = float(seconds.sum())
    scale = (MAX_LOAD - len(seconds)) / total if total > 0 else 0.0
    return np.maximum(1, np.floor(seconds * scale)).astype(np.int64)


def mean_transfer(problem: Problem, devices: Ints) -> Floats:
    """float64[tensors]: mean seconds of each tensor over the ordered pairs of ``devices``."""
    chosen = {int(d) for d in devices}
    links = [k for (s, t), k in problem.machine.link_of.items() if s in chosen and t in chosen]
    latency = sum(k.latency for k in links) / max(1, len(links))
    per_byte = sum(1 / k.bandwidth for k in links) / max(1, len(links))
    return np.asarray(latency + problem.graph.tensor_bytes * per_byte, np.float64)


def _rows(sources: Ints, targets: Ints, seconds: Floats, n: int) -> ClassGraph:
    order = np.lexsort((targets, sources))
    offsets = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=n), out=offsets[1:])
    return ClassGraph(offsets, targets[order].astype(np.int64), seconds[order])
