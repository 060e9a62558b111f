"""A random placement.

The papers print a "random" without defining it. Here every colocation class goes, independently,
to one of the devices that may run it, CPUs included, each equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Random:
    """One draw from ``search.rng``."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement drawn, whether it fits in memory or not."""
        return Placement.of(problem, draw(problem, search.rng, 1)[0])


def draw(problem: Problem, rng: np.random.Generator, count: int) -> NDArray[np.int32]:
    """Return int32[count, ops]: each class uniformly on one of the devices that may run it.

    Drawing 2 + 3 placements gives the same ones as drawing 5.
    """
    allowed = problem.allowed
    order = np.argsort(~allowed, axis=1, kind="stable")
    pick = np.floor(rng.random((count, len(allowed))) * allowed.sum(axis=1)).astype(np.int64)
    classes = order[np.arange(len(allowed)), pick]
    return np.asarray(classes[:, problem.graph.colocation], np.int32)
