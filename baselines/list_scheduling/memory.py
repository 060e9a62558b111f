"""What list schedulers take a class to need in memory (Baechi, Jeon et al. 2020, section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.problem import Problem


def class_bytes(problem: Problem) -> NDArray[np.int64]:
    """Variables and outputs of each class, int64[n_classes], as if nothing were ever freed.

    A tensor that shares another's buffer counts nothing.
    """
    graph = problem.graph
    own = np.where(graph.alias_of < 0, graph.tensor_bytes, 0)
    needed = problem.class_persistent_bytes.copy()
    np.add.at(needed, graph.colocation[graph.producer], own)
    return needed


def home_devices(problem: Problem) -> NDArray[np.int64]:
    """int64[n_classes]: the first device of a class that no GPU can run, else -1."""
    gpus = list(problem.machine.accelerators)
    on_gpu = problem.allowed[:, gpus].any(axis=1)
    return np.where(on_gpu, -1, np.argmax(problem.allowed, axis=1))
