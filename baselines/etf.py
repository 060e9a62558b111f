"""ETF: earliest task first (Hwang, Chow, Anger and Lee 1989), longest path to the end on ties.

The textbook's model: every transfer takes latency + bytes / bandwidth and waits for no other.
Inserting into gaps is implied: starts never decrease (:mod:`baselines.list_scheduling.earliest`).
"""

from __future__ import annotations

from dataclasses import dataclass

from baselines.list_scheduling.earliest import earliest_first
from baselines.list_scheduling.ranks import by_upward_rank
from baselines.list_scheduling.units import units
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Etf:
    """Of all ready operations and GPUs with room, the pair that can start first; then again.

    The first operation of a colocation class decides for the class.
    """

    queued: bool = False
    """Whether a device sends or receives one tensor at a time, unlike in the textbook."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU, or when a class fits on none any more.

        Nothing is searched.
        """
        if not problem.machine.accelerators:
            raise Unsupported("the machine has no GPU")
        order = by_upward_rank(problem)
        return earliest_first(problem, units(problem, coplaced=False), order, queued=self.queued)
