"""The passes of a training step: forward, backward, and what ends it."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from suite.core.errors import InputError
from suite.core.graph import OpGraph

FORWARD, BACKWARD, END = 0, 1, 2
GRADIENT = re.compile(r"(ConstantFolding/)?(gradients(_\d+)?|gradient_tape)/")
"""How TensorFlow begins the names of gradients (tf.gradients, GradientTape)."""


def passes_of(graph: OpGraph) -> NDArray[np.int64]:
    """int64[ops]: FORWARD, BACKWARD or END.

    FORWARD is what the step's results need (results are the operations that nothing reads), less
    the gradients and all that comes after them. END is what comes after gradients by control edges
    alone: it waits for the optimizer. All else is BACKWARD, the optimizer's constants too. A graph
    without gradients is FORWARD as a whole. InputError where no result does without gradients: then
    the step does not return its loss.
    """
    tensors, readers = graph.edges
    sources = graph.producer[tensors].astype(np.int64)
    carries = (graph.tensor_bytes[tensors] > 0).tolist()
    gradient = np.array([GRADIENT.match(name) is not None for name in graph.op_names], np.bool_)
    if not gradient.any():
        return np.full(graph.n_ops, FORWARD, np.int64)
    after, fed = gradient.copy(), gradient.copy()
    for edge in np.argsort(readers, kind="stable").tolist():
        after[readers[edge]] |= after[sources[edge]]
        fed[readers[edge]] |= fed[sources[edge]] and carries[edge]
    upwards = np.argsort(-sources, kind="stable").tolist()
    needed = np.ones(graph.n_ops, np.bool_)
    needed[sources] = False
    for edge in upwards:
        needed[sources[edge]] |= needed[readers[edge]] and carries[edge]
    needed &= ~after
    # What is needed by bytes has inputs without bytes as well: handles of variables.
    for edge in upwards:
        needed[sources[edge]] |= needed[readers[edge]]
    if not needed.any():
        raise InputError(
            f"{graph.name} has gradients and no result that does without them; let the step return"
            " its loss"
        )
    return np.where(needed, FORWARD, np.where(after & ~fed, END, BACKWARD))
