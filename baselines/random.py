"""A random placement.

The papers print a "random" without defining it. Here every colocation class goes, independently,
to one of the devices that may run it, CPUs included, each equally likely.
"""

from __future__ import annotations

from dataclasses import dataclass

from baselines._draw import draw
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Random:
    """One draw from ``search.rng``."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement drawn, whether it fits in memory or not."""
        return Placement.of(problem, draw(problem, search.rng, 1)[0])
