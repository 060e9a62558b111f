"""Random placements, one independent draw per colocation class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.problem import Problem


def draw(problem: Problem, rng: np.random.Generator, count: int) -> NDArray[np.int32]:
    """Return int32[count, ops]: each class uniformly on one of the devices that may run it.

    Drawing 2 + 3 placements gives the same ones as drawing 5.
    """
    allowed = problem.allowed
    order = np.argsort(~allowed, axis=1, kind="stable")
    pick = np.floor(rng.random((count, len(allowed))) * allowed.sum(axis=1)).astype(np.int64)
    classes = order[np.arange(len(allowed)), pick]
    return np.asarray(classes[:, problem.graph.colocation], np.int32)
