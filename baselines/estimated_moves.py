"""Annealing that judges only what a list schedule finds promising.

Not from a paper; surrogate-assisted search, with a list schedule for the surrogate. So many answers
are estimated (baselines/best_estimate.py) and the most promising are judged; then, from the
fastest, many changes are drawn and estimated for each that is judged. An estimate takes about as
long as a simulation: within the simulator this search saves evaluations and no time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.annealing import Annealing
from baselines.best_estimate import BestEstimate
from baselines.list_scheduling.estimate import Estimate
from baselines.local_search.walk import ChoosingWalk, Classes, Walk
from baselines.local_search.walks import Start, Walks
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class EstimatedMoves(Annealing):
    """Annealing that evaluates only the most promising of many estimated changes."""

    starts: tuple[str, ...] = ("gpu_only", "m_etf")
    """Placers whose answers are estimated for starting points, as far as they answer."""
    cuts: int = 16
    """Partitions by METIS that are estimated beside them."""
    layouts: int = 1000
    """Layouts of the repeated structure that are estimated beside them. With best_estimate's 300,
    NMT with 4 layers ends 4 % slower in the median of seven seeds, and one in three 6 to 11 %."""
    judged: float = 0.1
    """Share of the evaluations for the most promising of all these: the walks start from the
    fastest."""
    batch: int = 1
    """Changes judged at a time, of which the best is the candidate."""
    drawn: int = 128
    """Changes that are drawn, and estimated, for each batch that is judged."""

    def __post_init__(self) -> None:
        """Refuse counts below one, shares that are none and unknown placers (InputError)."""
        super().__post_init__()
        if self.drawn < 1:
            raise InputError(f"drawn is {self.drawn}; give >= 1")
        if not 0 < self.judged <= 1:
            raise InputError(f"judged is {self.judged}; give a share, above 0 to 1")
        self.answers()

    def answers(self) -> BestEstimate:
        """What is estimated for starting points; InputError where that is nothing."""
        return BestEstimate(
            placers=self.starts, cuts=self.cuts, layouts=self.layouts, hosted=self.hosted
        )

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Walks whose changes are estimated first; NativeCrash when METIS fails at the groups.

        Raises Unsupported without a GPU.
        """
        return EstimatedWalks(self, problem, search)


class EstimatedWalks(Walks):
    """Walks that estimate before they have anything judged."""

    def __init__(self, settings: EstimatedMoves, problem: Problem, search: Search) -> None:
        """Prepare moves and estimates."""
        super().__init__(settings, problem, search)
        self.estimate, self.estimates = Estimate(problem), 0
        self.answers, self.share, self.many = settings.answers(), settings.judged, settings.drawn
        self._estimating = 0.0
        """Seconds for one estimate."""

    def _judged(self) -> list[list[Start]]:
        """The most promising answers, hosted layouts among them, no placement twice."""
        begun = self.search.elapsed
        inner = self.search.inner(int(self.search.rng.integers(2**31)), 0)
        ranked = self.answers.ranked(self.estimate, inner)
        self.search.count(inner)
        self._estimating = (self.search.elapsed - begun) / len(ranked)
        self._count(len(ranked))
        different = list({self.moves.name(row): row for _, (_, row) in ranked}.values())
        most = max(1, min(self.share * self.total, len(different)))
        return [self._with_costs(different[: int(most)])]

    def _each(self, judged: int) -> float:
        """Seconds for each evaluation and the estimates before it."""
        return super()._each(judged) + self._estimating * self.many / self.batch

    def walk(
        self, cost: float, row: Classes, others: Classes, heat: float, rng: np.random.Generator
    ) -> Walk:
        """One walk of this search."""
        return EstimatedWalk(self, cost, row, others, heat, rng)

    def promising(self, rows: Classes) -> Classes:
        """Of placements, int64[rows, n_classes], the batch that is estimated to cost least."""
        seconds = self.estimate.seconds(rows)
        costs: list[tuple[float, int]] = []
        # Missing memory only adds to the seconds, so that few must be asked for it.
        for at in np.argsort(seconds, kind="stable").tolist():
            if len(costs) >= self.batch and seconds[at] >= costs[self.batch - 1][0]:
                break
            costs = sorted([*costs, (self._with_memory(seconds[at], rows[at]), at)])
        self._count(len(rows))
        return rows[[at for _, at in costs[: self.batch]]]

    def _count(self, estimates: int) -> None:
        self.estimates += estimates
        self.search.note(estimates=self.estimates)

    def _with_memory(self, seconds: float, row: NDArray[np.int64]) -> float:
        """What a placement is estimated to cost, missing memory included."""
        missing = float(self.problem.machine.missing_memory(self.estimate.peak(row)))
        return seconds * (1 + self.settings.overload * missing)


class EstimatedWalk(ChoosingWalk):
    """A walk whose neighbours are the most promising of many."""

    walks: EstimatedWalks

    def neighbours(self) -> Classes:
        """The changes that are estimated to be the fastest, of those not tried yet."""
        walks = self.walks
        return self.chosen(walks.promising(self.candidates(walks.many)))
