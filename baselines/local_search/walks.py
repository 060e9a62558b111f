"""One search's walks: where they start, and how they share the budget and the cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from baselines.local_search.answers import answer
from baselines.local_search.critical_chain import Tracer
from baselines.local_search.crossover import Crossover
from baselines.local_search.layouts import AT_ONCE, Layouts
from baselines.local_search.moves import Moves
from baselines.local_search.patterns import Patterns
from baselines.local_search.settling import Settling
from baselines.local_search.walk import Classes, Walk
from baselines.structure.find import find_structure
from suite.core.arrays import Floats
from suite.core.cores import my_share
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import make_placer

if TYPE_CHECKING:
    from baselines.annealing import Annealing

DEFAULT = 4000
"""Placements evaluated by a search without any budget."""
FOR_EACH = 125
"""Evaluations for each walk of the first round, and for each neighbour judged at a time: fewer come
to no depth. Measured: docs/baselines.md."""
SEVERAL = 8
"""Walks of the first round, until there are ENOUGH evaluations for each of more."""
ENOUGH = 500
HOSTED_FOR = 2.0
"""Share of the walks, up to a half, that begin where the host takes over, for each share of the
time that this saves at once. Measured: docs/baselines.md."""

Start = tuple[float, Classes]
"""What a placement costs, in seconds, and its class devices."""


class Walks:
    """The state of one search."""

    def __init__(self, settings: Annealing, problem: Problem, search: Search) -> None:
        """Prepare the moves. NativeCrash when METIS fails at the groups."""
        self.settings, self.problem, self.search = settings, problem, search
        self.tracer = Tracer(problem, search.judge)
        endless = search.max_seconds is None and search.max_evaluations is None
        asked = settings.evaluations or (DEFAULT if endless else np.inf)
        self.total = min(asked, search.remaining)
        self._divide(self.total)
        self.drawn = int(min(settings.layouts, self.total / 10))
        settling = Settling(problem)
        structure = find_structure(problem) if settings.patterns or self.drawn else None
        self.layouts = Layouts(problem, structure, settling) if structure else None
        devices = problem.machine.n_devices
        kinds = settings.patterns
        patterns = Patterns(structure, devices, kinds) if structure and kinds else None
        shares = settings.patterned, settings.crossed, settings.settled
        self.moves = Moves.of(problem, search.rng, settling, patterns, *shares)
        self.crossover = Crossover(problem)
        self._judging = 0.0
        """Seconds spent judging."""
        self.cheapest: Start = np.inf, np.zeros(problem.graph.n_classes, np.int64)
        """The cheapest placement so far, which may lack memory."""

    def _divide(self, evaluations: float) -> None:
        """Choose how many walks share so many evaluations, and how many neighbours a step has."""
        settings, most = self.settings, max(1, evaluations / FOR_EACH)
        self.count = int(min(settings.walks, max(min(SEVERAL, most), evaluations / ENOUGH)))
        self.batch = int(min(settings.batch, most))

    def starts(self) -> list[Start]:
        """What to start from: the cheapest of answers, layouts, random parts.

        Among them are layouts in which the host takes over, as far as they are faster than all
        others. Raises BudgetExhausted when the budget does not allow to judge them.
        """
        plain, *others = self._judged()
        hosted = [start for kind in others for start in kind]
        if self.search.max_seconds is not None:
            # Only now is known how many evaluations the seconds may allow.
            left = self.search.max_seconds - self.search.elapsed
            self._divide(min(self.total, left / self._each(len(plain) + len(hosted))))
        fastest = min(cost for cost, _ in plain)
        faster = _cheapest([start for start in hosted if start[0] < fastest])
        # What the host takes over may be in the way of better things: the less that saves at once,
        # the fewer walks begin with it.
        saved = 1 - faster[0][0] / fastest if faster else 0.0
        some = faster[: ceil(self.count * min(1 / 2, HOSTED_FOR * saved))]
        return _cheapest(some + _cheapest(plain)[: self.count - len(some)])

    def _judged(self) -> list[list[Start]]:
        """Judge answers, layouts and random parts, and apart layouts in which the host takes over.

        The latter may be missing.
        """
        settings, rng = self.settings, self.search.rng
        found = [start for name in settings.starts for start in self._answer(name)]
        found += [self.moves.random(rng) for _ in range(self.count - len(found) - self.drawn)]
        others = self._with_costs(found)
        if self.layouts is None or not self.drawn:
            return [others]
        plain, hosted = self.layouts.judged(self.drawn, settings.hosted, rng, self._costs_of)
        return [others + plain, hosted]

    def _each(self, judged: int) -> float:
        """Seconds for each evaluation, as far as is known when so many starts are judged."""
        return max(self._judging, 1e-9) / judged

    def _with_costs(self, rows: list[Classes]) -> list[Start]:
        """Judge placements, int64[n_classes] each."""
        return list(zip(self._costs_of(rows), rows, strict=True))

    def _costs_of(self, rows: list[Classes]) -> list[float]:
        """Seconds of placements, int64[n_classes] each, and what missing memory costs."""
        costs: list[float] = []
        for first in range(0, len(rows), AT_ONCE):
            costs += self._costs(np.stack(rows[first : first + AT_ONCE])).tolist()
        return costs

    def _answer(self, name: str) -> list[Classes]:
        """The class devices that a placer answers with, if it does."""
        seed = int(self.search.rng.integers(2**31))
        # What is left after it must do for judging the starting points.
        judged = self.count + self.drawn
        inner = self.search.inner(seed, self.total - self.search.evaluations - judged)
        try:
            found = answer(make_placer(name, {}), self.problem, inner)
        finally:
            self.search.count(inner)
        if isinstance(found, str):
            self.search.note(declined=self.search.notes.get("declined", {}) | {name: found})
            return []
        return [found]

    def anneal(self, starts: list[Start]) -> None:
        """Walk from each of these starts; after each round the better half goes on.

        A walk takes over parts of what the others begin its round with: their starts in the first,
        then the ends of all walks of the round before, left behind or not.

        Raises BudgetExhausted when the search's seconds are over.
        """
        rounds, going, others = len(starts).bit_length(), starts, [row for _, row in starts]
        for number in range(rounds):
            heat, rngs = self.settings.temperature / 2**number, self.search.rng.spawn(len(going))
            walks = [
                self.walk(*start, self._near(start[1], others), heat, rng)
                for start, rng in zip(going, rngs, strict=True)
            ]
            self._in_turn(walks, 1 / rounds)
            ended = _cheapest([(walk.best_cost, walk.best) for walk in walks])
            going, others = ended[: max(1, len(going) // 2)], [row for _, row in ended]

    def _near(self, row: Classes, others: list[Classes]) -> Classes:
        """What a walk from ``row`` takes over from: other placements, int64[n, n_classes]."""
        if not self.settings.crossed or len(others) == 1:
            return np.zeros((0, len(row)), np.int64)
        return np.stack([self.crossover.renamed(one, row) for one in others if one is not row])

    def walk(
        self, cost: float, row: Classes, others: Classes, heat: float, rng: np.random.Generator
    ) -> Walk:
        """One walk of this search."""
        return Walk(self, cost, row, others, heat, rng)

    def _in_turn(self, walks: Sequence[Walk], share: float) -> None:
        """Let the walks make one step after the other, until this share of the budget is spent.

        What the next walk proposes is worked out while the last one's proposals are judged.
        """
        begun = self._spent()
        end = min(1.0, begun + share)
        with Ahead() as ahead:
            number, proposed = 0, ahead.begin(walks[0].propose)
            while self._spent() < end:
                walk, following = walks[number % len(walks)], walks[(number + 1) % len(walks)]
                rows = proposed()
                if following is not walk:
                    proposed = ahead.begin(following.propose)
                left = max(0.0, (end - self._spent(len(rows))) / (end - begun))
                most = walk.most(left)
                walk.judged(rows, self._costs(rows, most), most)
                if following is walk:
                    proposed = ahead.begin(walk.propose)
                number += 1

    def _spent(self, more: int = 0) -> float:
        """Share of the budget, in evaluations or in seconds, whichever is further gone.

        ``more`` evaluations are counted beside those that were.
        """
        spent = (self.search.evaluations + more + self.batch - 1) / self.total
        if self.search.max_seconds is None:
            return spent
        return max(spent, self.search.elapsed / self.search.max_seconds)

    def _costs(self, rows: Classes, within: float = np.inf) -> Floats:
        """Seconds of placements, int64[rows, n_classes], and what missing memory costs.

        Exact up to ``within``.
        """
        begun = self.search.elapsed
        scores = self.search.evaluate(self.moves.placed(rows), within=within)
        self._judging += self.search.elapsed - begun
        missing = self.problem.machine.missing_memory(scores.peak_memory)
        costs = np.asarray(scores.step_time * (1 + self.settings.overload * missing), np.float64)
        at = int(np.argmin(costs))
        if costs[at] < self.cheapest[0]:
            self.cheapest = float(costs[at]), rows[at]
        return costs


def _cheapest(starts: list[Start]) -> list[Start]:
    """The cheapest first."""
    return sorted(starts, key=lambda start: start[0])


class Ahead:
    """Works something out beside what the caller does, where this process has a second core.

    What comes out is the same without one.
    """

    def __enter__(self) -> Ahead:
        self._pool = ThreadPoolExecutor(1) if my_share().threads > 1 else None
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def begin(self, work: Callable[[], Classes]) -> Callable[[], Classes]:
        """Begin; what is returned waits for the result and gives it."""
        if self._pool is not None:
            return self._pool.submit(work).result
        done = work()
        return lambda: done
