"""The best of k random placements: what a search must beat for the same evaluations.

Not from a paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.random import draw
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search


@dataclass(frozen=True)
class BestOfRandom:
    """Draw placements as ``random`` does, score them all, keep the fastest that fits in memory."""

    k: int = 100
    """Placements drawn; fewer when the budget ends before."""
    batch: int = 20
    """Placements scored at a time; does not change which are drawn."""

    def __post_init__(self) -> None:
        """Refuse counts below one (InputError)."""
        for name in ("k", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"best_of_random: {name} is {getattr(self, name)}; give >= 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement that fits.

        Where none does, return the one that comes nearest to fitting (the smallest peak, as a
        share of the memory, on its fullest device), which the judge will call out of memory.
        Raises BudgetExhausted when the budget does not allow a single placement.
        """
        best, best_key = None, (np.inf, np.inf)
        left = int(min(self.k, search.remaining))
        while left > 0:
            drawn = draw(problem, search.rng, min(self.batch, left))
            left -= len(drawn)
            try:
                scores = search.evaluate(drawn)
            except BudgetExhausted:
                break
            index, key = _best(scores, problem.machine.memory)
            if key < best_key:
                best, best_key = drawn[index], key
        if best is None:
            raise BudgetExhausted("best_of_random needs a budget of at least one placement")
        return Placement.of(problem, best)


def _best(scores: Scores, memory: NDArray[np.int64]) -> tuple[int, tuple[float, float]]:
    """Index and key (overload, seconds) of the best score: fitting first, then fast."""
    fullest = (scores.peak_memory / memory).max(axis=1)
    overload = np.where(scores.oom, fullest, 0.0)
    index = int(np.lexsort((scores.step_time, overload))[0])
    return index, (float(overload[index]), float(scores.step_time[index]))
