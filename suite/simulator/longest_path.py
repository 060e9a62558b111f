"""Longest paths through a graph, transfers free: how urgent an operation is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import lean_kernel
from suite.core.graph import OpGraph


def delivery_times(graph: OpGraph, duration: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[ops]: longest path from the end of each operation to the end of the step.

    ``duration`` is int64[ops] nanoseconds; transfers count nothing.
    """
    delivery = np.zeros(graph.n_ops, np.int64)
    readers = (graph.consumer_offsets, graph.consumers)
    _delivery_times(*graph.outputs, *readers, duration, delivery)
    return delivery


def longest_paths(graph: OpGraph, duration: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[ops]: longest path from the start of each operation to the end of the step.

    ``duration`` is int64[ops] nanoseconds; transfers count nothing.
    """
    return duration + delivery_times(graph, duration)


@lean_kernel
def _delivery_times(
    out_start: Ints,
    out_tensor: Ints,
    use_start: Ints,
    consumer: Ints,
    duration: NDArray[np.int64],
    delivery: NDArray[np.int64],
) -> None:
    # Operations are in topological order: backwards, readers come before what they read.
    for op in range(len(duration) - 1, -1, -1):
        for k in range(out_start[op], out_start[op + 1]):
            tensor = out_tensor[k]
            for edge in range(use_start[tensor], use_start[tensor + 1]):
                reader = consumer[edge]
                delivery[op] = max(delivery[op], duration[reader] + delivery[reader])
