"""How deep in the graph an operation lies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import lean_kernel
from suite.core.graph import OpGraph


def depths(graph: OpGraph) -> NDArray[np.int64]:
    """int64[ops]: the most edges on a path that leads to each operation."""
    depth = np.zeros(graph.n_ops, np.int64)
    _depths(*graph.inputs, graph.producer, depth)
    return depth


@lean_kernel
def _depths(start: Ints, tensors: Ints, producer: Ints, depth: NDArray[np.int64]) -> None:
    for op in range(len(depth)):
        for at in range(start[op], start[op + 1]):
            depth[op] = max(depth[op], depth[producer[tensors[at]]] + 1)
