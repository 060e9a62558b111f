"""The placement a human expert gives: the "human expert" column of HDP (section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass

from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class HumanExpert:
    """What the model's file says a human would do."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the expert's placement; raise Unsupported where the model has none."""
        if problem.expert is None:
            raise Unsupported(f"{problem.graph.name} has no human expert's placement")
        return Placement.of(problem, problem.expert)
