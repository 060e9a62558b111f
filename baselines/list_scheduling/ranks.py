"""Upward ranks: how long the longest path to the end is (HEFT, Topcuoglu et al. 2002)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem


def by_upward_rank(problem: Problem) -> NDArray[np.int64]:
    """Operations by decreasing upward rank, int64[ops]: a topological order.

    Operation and transfer times are means over the GPUs (over the devices it can run on, for an
    operation without a GPU kernel) and over the links between GPUs.
    """
    graph, machine = problem.graph, problem.machine
    gpus = list(machine.accelerators)
    on_gpu = np.isfinite(problem.seconds[:, gpus]).all(axis=1)
    finite = np.isfinite(problem.seconds)
    anywhere = np.where(finite, problem.seconds, 0).sum(axis=1) / finite.sum(axis=1)
    seconds = np.where(on_gpu, np.where(finite, problem.seconds, 0)[:, gpus].mean(axis=1), anywhere)
    links = [k for (s, t), k in machine.link_of.items() if s in gpus and t in gpus]
    latency = sum(k.latency for k in links) / max(1, len(links))
    per_byte = sum(1 / k.bandwidth for k in links) / max(1, len(links))
    travel = np.asarray(latency + graph.tensor_bytes * per_byte, np.float64)
    offsets, outputs = graph.outputs
    rank = _upward(seconds, travel, offsets, outputs, graph.consumer_offsets, graph.consumers)
    return np.lexsort((np.arange(graph.n_ops), -rank))


@kernel
def _upward(
    seconds: Floats,
    travel: Floats,
    offsets: Ints,
    outputs: Ints,
    reader_offsets: Ints,
    readers: Ints,
) -> Floats:
    rank = np.zeros(len(seconds))
    # Backwards through the topological order: readers are ranked before what they read.
    for op in range(len(seconds) - 1, -1, -1):
        rest = 0.0
        for tensor in outputs[offsets[op] : offsets[op + 1]]:
            for reader in readers[reader_offsets[tensor] : reader_offsets[tensor + 1]]:
                rest = max(rest, travel[tensor] + rank[reader])
        rank[op] = seconds[op] + rest
    return rank
