"""The hypergraph of a problem: a net for each tensor, of its producer's class and its readers'."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import mean_transfer
from suite.core.arrays import Bools, Floats, Ints
from suite.core.problem import Problem


def nets(
    problem: Problem, devices: Ints, kept: Bools
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the nets over the classes where ``kept`` (bool[n_classes]), renumbered from 0.

    (offsets int64[nets + 1], pins int64[pins] ascending in a net, seconds float64[nets]): a net's
    seconds are what its tensors take to one more device, the mean over links among ``devices``.
    Tensors between the same classes are one net; a tensor within one class is none.
    """
    graph = problem.graph
    tensors, readers = graph.edges
    number = np.cumsum(kept) - 1
    tensor = np.concatenate([np.arange(graph.n_tensors), tensors])
    member = graph.colocation[np.concatenate([graph.producer, readers])]
    inside = kept[member]
    pairs = np.unique(np.stack([tensor[inside], number[member[inside]]]), axis=1)
    owner, first, count = np.unique(pairs[0], return_index=True, return_counts=True)
    seconds = mean_transfer(problem, devices)
    merged: dict[tuple[int, ...], float] = {}
    for name, start, size in zip(owner.tolist(), first.tolist(), count.tolist(), strict=True):
        if size > 1:
            pins = tuple(pairs[1, start : start + size].tolist())
            merged[pins] = merged.get(pins, 0.0) + float(seconds[name])
    offsets = np.cumsum([0, *map(len, merged)])
    flat = np.array([pin for pins in merged for pin in pins], np.int64)
    return offsets.astype(np.int64), flat, np.array(list(merged.values()), np.float64)
