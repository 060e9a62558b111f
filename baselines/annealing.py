"""Simulated annealing over groups of operations, guided by the critical chain of the step.

Several walks share the budget: after each round the better half goes on (successive halving), and
takes over parts of the others' placements (crossover, as in a memetic algorithm, Moscato 1989).
Not from a paper: what a local search reaches with the evaluations, or the seconds, that the learned
planners need (Kirkpatrick et al. 1983; FlexFlow, Jia et al. 2018, searches in the same spirit).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.local_search.host_cuts import check_hosted
from baselines.local_search.patterns import MOVES
from baselines.local_search.walks import Walks
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Annealing:
    """Walks from the answers of other placers and from random starts; the better half goes on."""

    evaluations: int = 0
    """Placements evaluated, unless the search's own budget is smaller; 0: as many as that allows,
    or 4,000 where it has none."""
    starts: tuple[str, ...] = ("gpu_only", "metis", "m_etf")
    """Placers whose answers are starting points, as far as they answer."""
    layouts: int = 200
    """Layouts of the graph's repeated structure that are drawn and judged for starting points; at
    most a tenth of the evaluations. 0: parts on random devices instead."""
    hosted: float = 0.2
    """Share of them in which the host takes over what a cut gives it (local_search/host_cuts.py).
    Up to half of the walks start from these, where they are faster than all other starts: as many
    as twice the share of the time that this saves."""
    walks: int = 32
    """Walks of the first round at most, from the fastest of these answers and layouts: one for each
    125 evaluations up to eight, and further ones where there are 500 for each."""
    patterned: float = 0.8
    """Share of moves on the repeated structure; the others move parts and types."""
    patterns: tuple[str, ...] = tuple(MOVES)
    """Kinds of moves on it."""
    crossed: float = 0.4
    """Share of moves, as soon as there are several walks, that lay out a part as another walk has
    it, its devices renamed to match."""
    settled: float = 0.5
    """Share of changes after which the light operations of what moved, and beside it, go where
    fewest transfers are."""
    guided: float = 0.7
    """Share of moves along the critical chain; the others are anywhere."""
    batch: int = 8
    """Neighbours judged at a time, of which the best is the candidate; at most one for each 125
    evaluations."""
    temperature: float = 0.002
    """Relative worsening that is accepted once in e at the start of a walk; cools to 0. Half as
    much in each further round."""
    overload: float = 4.0
    """Cost of memory that is missing, per share of the fullest device, relative to the time."""

    def __post_init__(self) -> None:
        """Refuse counts below one and shares that are none (InputError)."""
        check_hosted(self.hosted)
        for name in ("patterned", "crossed", "settled", "guided"):
            if not 0 <= getattr(self, name) <= 1:
                given = getattr(self, name)
                raise InputError(f"{name} is {given}; give a share, 0 to 1")
        if self.evaluations < 0:
            raise InputError(f"evaluations is {self.evaluations}; give >= 0")
        for name in ("walks", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give >= 1")
        if self.layouts < 0:
            raise InputError(f"layouts is {self.layouts}; give >= 0")
        for name in self.patterns:
            if name not in MOVES:
                raise InputError(f"no pattern {name!r}; give some of {', '.join(MOVES)}")
        object.__setattr__(self, "starts", tuple(self.starts))
        object.__setattr__(self, "patterns", tuple(self.patterns))

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits, or the one that lacks least if none did.

        Raises BudgetExhausted when the budget does not allow the first starting points, NativeCrash
        when METIS fails at the groups.
        """
        if not problem.graph.n_classes or problem.machine.n_devices == 1:
            return Placement.of_classes(problem, np.zeros(problem.graph.n_classes, np.int64))
        walks = self.walks_of(problem, search)
        try:
            walks.anneal(walks.starts())
        except BudgetExhausted as error:
            if np.isinf(walks.cheapest[0]):
                late = search.max_seconds is not None and search.elapsed > search.max_seconds
                raise BudgetExhausted(
                    f"{error} before a placement was judged; give more" if late else str(error)
                ) from None
            search.note(budget="ended in a walk")
        finally:
            search.note(traces=walks.tracer.traces)
        if search.best is not None:
            return search.best
        return Placement.of_classes(problem, walks.moves.fitted(walks.cheapest[1]))

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """The walks of one search."""
        return Walks(self, problem, search)
