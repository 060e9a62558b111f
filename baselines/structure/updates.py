"""What comes after the step's last products: weight gradients, their sums, the optimizer's work.

Nothing waits for it but the end of the step, so that it may be apart from the forward pass.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Ints
from suite.core.compilation import lean_kernel
from suite.core.graph import OpGraph

PRODUCT = 4.0
"""FLOP per byte from which an operation is a product or a convolution: sums have less than one."""
SEVERAL, NONE = -1, -2


def find_last(graph: OpGraph) -> Bools:
    """bool[ops]: whether no product follows on an operation; a weight's gradient is one itself."""
    product = np.asarray(graph.flops > PRODUCT * graph.bytes_touched, np.bool_)
    followed = np.zeros(graph.n_ops, np.bool_)
    readers = (graph.consumer_offsets, graph.consumers)
    _follow(*graph.outputs, *readers, product, followed)
    return ~followed


def find_updates(graph: OpGraph) -> NDArray[np.int64]:
    """int64[ops]: the class of the variable that all that follows ends in; -1: none or several.

    The variable's class has its own number.
    """
    holds = np.zeros(graph.n_classes, np.bool_)
    holds[graph.colocation[graph.persistent_bytes > 0]] = True
    served = np.full(graph.n_ops, NONE, np.int64)
    readers = (graph.consumer_offsets, graph.consumers)
    _serve(*graph.outputs, *readers, graph.colocation, holds, served)
    return served


@lean_kernel
def _follow(
    out_start: Ints,
    out_tensor: Ints,
    use_start: Ints,
    consumer: Ints,
    product: Bools,
    followed: Bools,
) -> None:
    # Operations are in topological order: backwards, readers come before what they read.
    for op in range(len(followed) - 1, -1, -1):
        for k in range(out_start[op], out_start[op + 1]):
            for edge in range(use_start[out_tensor[k]], use_start[out_tensor[k] + 1]):
                reader = consumer[edge]
                followed[op] |= followed[reader] | product[reader]


@lean_kernel
def _serve(
    out_start: Ints,
    out_tensor: Ints,
    use_start: Ints,
    consumer: Ints,
    colocation: Ints,
    holds: Bools,
    served: NDArray[np.int64],
) -> None:
    for op in range(len(served) - 1, -1, -1):
        if holds[colocation[op]]:
            served[op] = colocation[op]
            continue
        for k in range(out_start[op], out_start[op + 1]):
            for edge in range(use_start[out_tensor[k]], use_start[out_tensor[k] + 1]):
                reader = served[consumer[edge]]
                served[op] = reader if served[op] in (NONE, reader) else SEVERAL
        if served[op] == NONE:
            served[op] = SEVERAL
