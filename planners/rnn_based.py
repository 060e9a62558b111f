"""HSDAG's "RNN-based" baseline: ColocRL's policy on the nodes of HSDAG's coarsened graph.

Duan et al. (NeurIPS 2024, Table 2) compare with the placer of Mirhoseini et al. (2017), which they
wrote anew; they print none of its settings, nor what it places. Chosen here: the nodes that HSDAG
itself places, and ColocRL's settings but for the two below.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.colocrl import ColocRL
from planners.features.coarse_problem import CoarseProblem
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class RnnBased(ColocRL):
    """An attentional sequence-to-sequence policy over the nodes of the coarsened graph."""

    hidden: int = 64
    """A quarter of ColocRL's units, since a sequence has up to 769 nodes where ColocRL has 280."""
    baseline_start: str = "first"
    """Rewards are minus the root of milliseconds, some -0.1: from -10 on, whatever is drawn in the
    first fifty updates looks equally good, and the policy is certain before it has learned."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        return super().place(CoarseProblem.like(problem), search)
