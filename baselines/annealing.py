"""Simulated annealing over groups of operations, guided by the critical chain of the step.

Several walks share the budget: after each round the better half goes on (successive halving).
Not from a paper: what a local search reaches with the evaluations, or the seconds, that the learned
planners need (Kirkpatrick et al. 1983; FlexFlow, Jia et al. 2018, searches in the same spirit).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.critical_chain import Tracer
from baselines.local_search.layouts import Layouts
from baselines.local_search.moves import Moves
from baselines.local_search.patterns import MOVES, Patterns
from baselines.structure.find import find_structure
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.search.subprocess_call import NativeCrash

Classes = NDArray[np.int64]
DEFAULT = 4000
"""Placements evaluated by a search without any budget."""


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
    walks: int = 8
    """Walks of the first round: from the fastest of these answers and layouts."""
    patterned: float = 0.8
    """Share of moves on the repeated structure; the others move parts and types."""
    patterns: tuple[str, ...] = tuple(MOVES)
    """Kinds of moves on it."""
    guided: float = 0.7
    """Share of moves along the critical chain; the others are anywhere."""
    batch: int = 8
    """Neighbours judged at a time; the best of them is the candidate."""
    temperature: float = 0.002
    """Relative worsening that is accepted once in e at the start of a walk; cools to 0. Half as
    much in each further round."""
    overload: float = 4.0
    """Cost of memory that is missing, per share of the fullest device, relative to the time."""

    def __post_init__(self) -> None:
        """Refuse counts below one (InputError)."""
        if self.evaluations < 0:
            raise InputError(f"annealing: evaluations is {self.evaluations}; give >= 0")
        for name in ("walks", "batch"):
            if getattr(self, name) < 1:
                raise InputError(f"annealing: {name} is {getattr(self, name)}; give >= 1")
        if self.layouts < 0:
            raise InputError(f"annealing: layouts is {self.layouts}; give >= 0")
        for name in self.patterns:
            if name not in MOVES:
                raise InputError(f"annealing: no pattern {name!r}; give some of {', '.join(MOVES)}")
        object.__setattr__(self, "starts", tuple(self.starts))
        object.__setattr__(self, "patterns", tuple(self.patterns))

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits, or the last walk's end if none did.

        Raises BudgetExhausted when the budget does not allow the starting points, NativeCrash when
        METIS fails at the groups.
        """
        if not problem.graph.n_classes or problem.machine.n_devices == 1:
            return Placement.of_classes(problem, np.zeros(problem.graph.n_classes, np.int64))
        walk = _Walk(self, problem, search)
        going = walk.starts()
        rounds = len(going).bit_length()
        try:
            for number in range(rounds):
                share, heat = 1 / (rounds * len(going)), self.temperature / 2**number
                ended = [walk.run(*start, share, heat) for start in going]
                going = sorted(ended, key=lambda pair: pair[0])[: max(1, len(going) // 2)]
        except BudgetExhausted:
            search.note(budget="ended in a walk")
        finally:
            search.note(traces=walk.tracer.traces)
        if search.best is not None:
            return search.best
        return Placement.of_classes(problem, walk.moves.fitted(walk.current))


class _Walk:
    """The state of one search."""

    def __init__(self, settings: Annealing, problem: Problem, search: Search) -> None:
        self.settings, self.problem, self.search = settings, problem, search
        self.tracer = Tracer(problem, search.judge)
        endless = search.max_seconds is None and search.max_evaluations is None
        asked = settings.evaluations or (DEFAULT if endless else np.inf)
        self.total = min(asked, search.remaining)
        self.drawn = int(min(settings.layouts, self.total / 10))
        structure = find_structure(problem) if settings.patterns or self.drawn else None
        self.layouts = Layouts(problem, structure) if structure else None
        devices = problem.machine.n_devices
        kinds = settings.patterns
        patterns = Patterns(structure, devices, kinds) if structure and kinds else None
        self.moves = Moves.of(problem, search.rng, patterns, settings.patterned)
        self.current: Classes = np.zeros(problem.graph.n_classes, np.int64)

    def starts(self) -> list[tuple[float, Classes]]:
        """Costs and class devices to start from: the fastest of answers, layouts, random parts."""
        settings, rng = self.settings, self.search.rng
        found = [start for name in settings.starts for start in self._answer(name)]
        if self.layouts is not None:
            found += [self.layouts.draw(rng) for _ in range(self.drawn)]
        found += [self.moves.random(rng) for _ in range(settings.walks - len(found))]
        pairs: list[tuple[float, Classes]] = []
        for first in range(0, len(found), settings.walks):
            # As few at a time as walks, so that a large graph's do not fill the memory.
            some = found[first : first + settings.walks]
            costs = self._costs(self.search.evaluate(self.moves.placed(np.stack(some))))
            pairs += zip(costs.tolist(), some, strict=True)
        pairs = sorted(pairs, key=lambda pair: pair[0])[: settings.walks]
        self.current = pairs[0][1]
        return pairs

    def _answer(self, name: str) -> list[Classes]:
        seed = int(self.search.rng.integers(2**31))
        # What is left after it must do for judging the starting points.
        judged = self.settings.walks + self.drawn
        inner = self.search.inner(seed, self.total - self.search.evaluations - judged)
        try:
            devices = make_placer(name, {}).place(self.problem, inner).devices
        except (Unsupported, NativeCrash, BudgetExhausted) as error:
            declined = self.search.notes.get("declined", {})
            self.search.note(declined=declined | {name: str(error)})
            return []
        finally:
            self.search.count(inner)
        classes = np.zeros(self.problem.graph.n_classes, np.int64)
        classes[self.problem.graph.colocation] = devices
        return [classes]

    def run(self, cost: float, start: Classes, share: float, heat: float) -> tuple[float, Classes]:
        """Anneal from ``start``, of that cost, with this share of the budget or what is left.

        Returns the best cost in seconds and its class devices.
        """
        settings, rng = self.settings, self.search.rng
        begun, chain = self._spent(), None
        end = min(1.0, begun + share)
        self.current = best = start
        best_cost = cost
        while self._spent() < end:
            if chain is None:
                chain = self.tracer.chain(self.moves.placed(self.current[None])[0])
            drawn = self.moves.neighbours(self.current, settings.batch, settings.guided, chain, rng)
            left = max(0.0, (end - self._spent(settings.batch)) / (end - begun))
            most = cost * (1 + heat * left**2 * rng.exponential())
            costs = self._costs(self.search.evaluate(self.moves.placed(drawn), within=most))
            index = int(np.argmin(costs))
            if costs[index] <= most:
                self.current, cost, chain = drawn[index], float(costs[index]), None
            if cost < best_cost:
                best, best_cost = self.current, cost
        return best_cost, best

    def _spent(self, more: int = 0) -> float:
        """Share of the budget, in evaluations or in seconds, whichever is further gone.

        ``more`` evaluations are counted beside those that were.
        """
        spent = (self.search.evaluations + more + self.settings.batch - 1) / self.total
        if self.search.max_seconds is None:
            return spent
        return max(spent, self.search.elapsed / self.search.max_seconds)

    def _costs(self, scores: Scores) -> NDArray[np.float64]:
        memory = self.problem.machine.memory
        missing = np.maximum(0, (scores.peak_memory / memory).max(axis=1) - 1)
        return np.asarray(scores.step_time * (1 + self.settings.overload * missing), np.float64)
