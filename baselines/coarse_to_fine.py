"""Annealing that first places whole modules of the graph, and then anneals the best of these.

Not from a paper; multilevel search. A placement by modules is judged as any other, so that what is
found for a few dozen of them, mostly layers, holds for tens of thousands of operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.annealing import Annealing
from baselines.local_search.module_placements import Laid, ModulePlacements
from baselines.local_search.walks import Start, Walks
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search

DRAWN = 0.4
"""Share of the search over modules in which they are drawn, before the best of these climb."""

Climber = tuple[float, Laid]
"""What a placement of modules costs, in seconds, and the placement."""


@dataclass(frozen=True)
class CoarseToFine(Annealing):
    """Annealing from the best placements of whole modules, which are searched for first."""

    layouts: int = 0
    """Layouts that are drawn as ``annealing`` draws them: none, since modules are placed."""
    hosted: float = 0.2
    """Share of the placements drawn in which the host takes over what a cut gives it; others come
    to that, or leave it, as they climb."""
    walks: int = 4
    """Walks of the first round at most, one for each 125 evaluations."""
    coarse: float = 0.25
    """Share of the budget for placing modules."""
    climbers: int = 16
    """Placements of modules that climb, from the fastest of those that are drawn; after each round
    the better half goes on."""

    def __post_init__(self) -> None:
        """Refuse what ``annealing`` refuses, no climbers and a share that is none (InputError)."""
        super().__post_init__()
        if self.climbers < 1:
            raise InputError(f"climbers is {self.climbers}; give >= 1")
        if not 0 < self.coarse < 1:
            raise InputError(f"coarse is {self.coarse}; give a share, above 0 and below 1")

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Walks that start from modules. NativeCrash when METIS fails at the groups."""
        return FineWalks(self, problem, search)


class FineWalks(Walks):
    """Walks that start from the best placements of modules."""

    settings: CoarseToFine

    def _judged(self) -> list[list[Start]]:
        """Judge the answers of placers, and search over placements of modules."""
        answers = [start for kind in super()._judged() for start in kind]
        if self.layouts is None:
            return [answers]
        modules = ModulePlacements(self.problem, self.layouts.structure, self.settings.hosted)
        begun = self._spent()
        share = self.settings.coarse * (1 - begun)
        going = self._drawn(modules, begun + DRAWN * share)
        rounds, ended = len(going).bit_length(), list[Climber]()
        for number in range(rounds):
            part = DRAWN + (1 - DRAWN) * (number + 1) / rounds
            self._climb(modules, going, begun + part * share)
            going.sort(key=_cost)
            half = max(1, len(going) // 2)
            going, ended = going[:half], ended + going[half:]
        return [answers + [(cost, row) for cost, (_, row) in going + ended]]

    def _drawn(self, modules: ModulePlacements, until: float) -> list[Climber]:
        """Draw placements of modules until that share of the budget is spent; the fastest."""
        best, worst = list[Climber](), np.inf
        while not best or self._spent() < until:
            new = [modules.drawn(self.search.rng) for _ in range(self.batch)]
            best = sorted(best + self._paid(modules.all_laid(new), worst), key=_cost)
            best = best[: self.settings.climbers]
            worst = best[-1][0] if len(best) == self.settings.climbers else np.inf
        return best

    def _climb(self, modules: ModulePlacements, going: list[Climber], until: float) -> None:
        """Change each of these in turn, and keep what is no worse, until that share is spent."""
        at = 0
        while self._spent() < until:
            turn = [(at + i) % len(going) for i in range(self.batch)]
            parents = [going[i][1] for i in turn]
            new = [modules.changed(of, self.search.rng) for of, _ in parents]
            paid = self._paid(modules.all_laid(new, parents), max(going[i][0] for i in turn))
            for i, one in zip(turn, paid, strict=True):
                if one[0] <= going[i][0]:
                    going[i] = one
            at += self.batch

    def _paid(self, laid: list[Laid], within: float) -> list[Climber]:
        """What placements of modules cost; exact up to ``within``."""
        costs = self._costs(np.stack([row for _, row in laid]), within).tolist()
        return list(zip(costs, laid, strict=True))

    def _each(self, judged: int) -> float:
        """Seconds for each evaluation: far more were judged than are kept."""
        return super()._each(max(judged, self.search.evaluations))


def _cost(climber: Climber) -> float:
    return climber[0]
