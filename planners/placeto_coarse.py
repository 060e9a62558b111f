"""Placeto on the nodes of HSDAG's coarsened graph (Duan et al., NeurIPS 2024, Table 2).

HSDAG's paper compares with Placeto and does not say what its nodes were. ColocRL's groups, which
Placeto's own paper has, leave one group of most networks for inference, and nothing to learn.
"""

from __future__ import annotations

from dataclasses import dataclass

from planners.features.coarse_problem import CoarseProblem
from planners.placeto import Placeto
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.training import Learned, Training


@dataclass(frozen=True)
class PlacetoCoarse(Placeto):
    """Placeto, whose groups are HSDAG's nodes, the cheapest merged until few are left."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits in memory, or the last if none did.

        Raises BudgetExhausted when the budget does not allow one episode to begin.
        """
        return super().place(CoarseProblem.like(problem), search)

    def train(self, training: Training) -> Learned:
        """Learn on all graphs by the same groups, an episode on each in turn.

        Raises BudgetExhausted when a graph's budget does not allow one episode to begin.
        """
        for search in training.searches:
            search.problem = CoarseProblem.like(search.problem)
        return super().train(training)
