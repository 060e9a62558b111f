"""Simulated annealing over groups of operations, coarse to fine, with the judge as its guide.

Not from a paper: what a plain local search reaches with the evaluations the learned planners need
(Kirkpatrick et al. 1983; FlexFlow, Jia et al. 2018, searches placements in the same spirit).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from baselines._moves import Moves
from baselines._parts import parts
from suite.errors import BudgetExhausted, InputError
from suite.placement import Placement
from suite.placer import Scores, Search
from suite.problem import Problem

Classes = NDArray[np.int64]


@dataclass(frozen=True)
class Annealing:
    """Walks on coarse groups from random starts; the best one goes on, on finer groups."""

    evaluations: int = 4000
    """Placements evaluated, unless the search's own budget is smaller."""
    restarts: int = 4
    """Walks on the coarse levels."""
    coarse: tuple[int, ...] = (16, 32, 64)
    """Numbers of groups of the walks."""
    fine: tuple[int, ...] = (64, 128, 256, 512)
    """Numbers of groups of the refinement."""
    batch: int = 8
    """Neighbours judged at a time; the best of them is the candidate."""
    temperature: float = 0.03
    """Relative worsening that is accepted once in e at the start of a walk; cools to 0."""
    overload: float = 4.0
    """Cost of memory that is missing, per share of the fullest device, relative to the time."""

    def __post_init__(self) -> None:
        """Refuse counts below one (InputError)."""
        for name in ("evaluations", "restarts", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"annealing: {name} is {getattr(self, name)}; give >= 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits, or the last walk's end if none did.

        Raises BudgetExhausted when the budget does not allow one batch, NativeCrash when METIS
        fails.
        """
        if not problem.graph.n_classes:
            return Placement.of_classes(problem, np.zeros(0, np.int64))
        moves, rng = Moves(problem), search.rng
        counts = [*self.coarse * self.restarts, *self.fine]
        groupings = iter(parts(problem, counts, rng))
        total = int(min(self.evaluations, search.remaining))
        share = total // (2 * self.restarts * len(self.coarse))
        found: list[tuple[float, Classes]] = []
        try:
            for _ in range(self.restarts):
                walk = list(islice(groupings, len(self.coarse)))
                start = moves.random(walk[0], rng)
                found.append(self._descend(moves, search, start, walk, share))
            _, start = min(found, key=lambda pair: pair[0])
            share = (total - search.evaluations) // len(self.fine)
            found.append(self._descend(moves, search, start, list(groupings), share))
        except BudgetExhausted:
            if not search.evaluations:
                raise
            found.append((np.inf, start))
        if search.best is not None:
            return search.best
        return Placement.of_classes(problem, moves.fitted(found[-1][1]))

    def _descend(
        self, moves: Moves, search: Search, classes: Classes, walk: list[Classes], share: int
    ) -> tuple[float, Classes]:
        """Walk on one grouping after the other; return the best cost and its class devices."""
        cost = np.inf
        for groups in walk:
            cost, classes = self._walk(moves, search, classes, groups, share)
        return cost, classes

    def _walk(
        self, moves: Moves, search: Search, classes: Classes, groups: Classes, share: int
    ) -> tuple[float, Classes]:
        """Anneal with ``share`` evaluations, moving whole groups from where they are now."""
        level = moves.level(groups, classes)
        current, cost = level.start, np.inf
        best, best_cost = current, np.inf
        steps = max(1, share // self.batch)
        for step in range(steps):
            drawn = level.neighbours(current, self.batch, search.rng)
            if step == 0:
                drawn[0] = current
            scores = search.evaluate(moves.placed(drawn[:, level.group_of]))
            costs = self._costs(scores, moves.problem)
            index = int(np.argmin(costs))
            slack = self.temperature * (1 - step / steps) * search.rng.exponential()
            if costs[index] <= cost * (1 + slack):
                current, cost = drawn[index], float(costs[index])
            if cost < best_cost:
                best, best_cost = current, cost
        return best_cost, best[level.group_of]

    def _costs(self, scores: Scores, problem: Problem) -> NDArray[np.float64]:
        missing = np.maximum(0, (scores.peak_memory / problem.machine.memory).max(axis=1) - 1)
        return np.asarray(scores.step_time * (1 + self.overload * missing), np.float64)
