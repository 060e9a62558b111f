"""What a model file provides: a training step to capture, and where a human would put it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from suite.core.arrays import Ints
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    from typing import TypeAlias

    import openvino
    import tensorflow as tf

    TrainingStep: TypeAlias = tuple[tf.types.experimental.PolymorphicFunction, list[tf.TensorSpec]]
    """A ``tf.function``, and the specification of each of its inputs."""

CPU = -1
"""The GPU number that stands for the CPU."""


@dataclass(frozen=True)
class GraphFile:
    """A training step that another version of TensorFlow wrote to disk."""

    path: Path
    """A GraphDef, binary, packed with gzip or xz or not at all."""
    fetch: tuple[str, ...]
    """The operations that a step runs."""
    gpu_kernels: Path
    """The GPU kernels of that version: a KernelList as text, packed or not."""


class Model(Protocol):
    """One network at one size: a frozen dataclass in ``models/*.py``, listed in its TASKS."""

    @property
    def gpus(self) -> int:
        """GPUs the papers placed it on."""
        ...

    @property
    def paper_ops(self) -> int | None:
        """Operations of the paper's graph, where it says."""
        ...

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give and was chosen here, in words."""
        ...

    def build(self) -> TrainingStep | GraphFile | openvino.Model:
        """Return one training step (a ``tf.function``) and its inputs (``tf.TensorSpec`` each).

        Or the file that has the step, or for inference a network of OpenVINO's.
        """
        ...

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Return the human expert's GPU number of every operation, CPU (-1) for the CPU."""
        ...

    def block(self, name: str) -> str | None:
        """Name the hand-made co-location group of a forward operation; None: it has none.

        ColocRL's rules for each model (section 3.3). A gradient's name arrives without what
        TensorFlow puts before the scope that it differentiates (:mod:`suite.core.colocation`).
        """
        ...


def all_on_first(graph: OpGraph, gpus: int) -> Ints:
    """Everything on GPU 0; operations without a GPU kernel, with their class, on the CPU."""
    return by_scope(graph, lambda name: 0)


def by_scope(graph: OpGraph, gpu_of: Callable[[str], int | None]) -> Ints:
    """Place colocation classes by the scope in the name of their first operation.

    Gradient operations are named after the forward scope they differentiate, so the prefixes
    ``gradients/`` and ``gradient_tape/`` are dropped first. An operation outside all scopes (None)
    goes where its first input comes from; a source, where its first reader is. A class with a
    member that has no GPU kernel goes to the CPU. Returns int64[ops].
    """
    offsets, ops = graph.classes
    known = [gpu_of(re.sub("^(gradients|gradient_tape)/", "", name)) for name in graph.op_names]
    _follow_inputs(graph, known)
    gpus = np.empty(graph.n_classes, np.int64)
    for index in range(graph.n_classes):
        members = ops[offsets[index] : offsets[index + 1]]
        gpus[index] = known[members[0]] if graph.gpu_kernel[members].all() else CPU
    return gpus[graph.colocation]


def _follow_inputs(graph: OpGraph, gpus: list[int | None]) -> None:
    """Fill in the operations that no scope names, forwards and then backwards."""
    offsets, tensors = graph.inputs
    for op in range(graph.n_ops):
        for tensor in tensors[offsets[op] : offsets[op + 1]]:
            if gpus[op] is None:
                gpus[op] = gpus[graph.producer[tensor]]
    sources, readers = graph.producer[graph.edges[0]], graph.edges[1]
    for edge in range(len(readers) - 1, -1, -1):
        if gpus[sources[edge]] is None:
            gpus[sources[edge]] = gpus[readers[edge]]
    gpus[:] = [0 if gpu is None else gpu for gpu in gpus]
