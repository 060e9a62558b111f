"""What a model file provides: a training step to capture, and where a human would put it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from suite.arrays import Ints
from suite.graph import OpGraph

CPU = -1
"""The GPU number that stands for the CPU."""


class Model(Protocol):
    """One network at one size: a frozen dataclass in ``models/*.py``, listed in its TASKS."""

    @property
    def gpus(self) -> int:
        """GPUs the papers placed it on."""
        ...

    @property
    def paper_ops(self) -> int | None:
        """Operations of the paper's graph (HDP, section 4), where it says."""
        ...

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give and was chosen here, in words."""
        ...

    def build(self) -> tuple[Any, list[Any]]:
        """Return one training step (a ``tf.function``) and its inputs (``tf.TensorSpec`` each)."""
        ...

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Return the human expert's GPU number of every operation, CPU (-1) for the CPU."""
        ...


def all_on_first(graph: OpGraph, gpus: int) -> Ints:
    """Everything on GPU 0; operations without a GPU kernel, with their class, on the CPU."""
    return by_scope(graph, lambda name: 0)


def by_scope(graph: OpGraph, gpu_of: Callable[[str], int]) -> Ints:
    """Place colocation classes by the name of their first operation (a variable, if any).

    Gradient operations are named after the forward scope they differentiate, so the prefix
    ``gradient_tape/`` is dropped first. Returns int64[ops].
    """
    offsets, ops = graph.classes
    gpus = np.empty(graph.n_classes, np.int64)
    for index in range(graph.n_classes):
        members = ops[offsets[index] : offsets[index + 1]]
        name = re.sub(r"^gradient_tape/", "", graph.op_names[members[0]])
        gpus[index] = gpu_of(name) if graph.gpu_kernel[members].all() else CPU
    return gpus[graph.colocation]
