"""Annealing, of which a part starts from placements of whole modules, which are searched for first.

Not from a paper; multilevel search. A placement by modules is judged as any other, so that what is
found for a few dozen of them, mostly layers, holds for tens of thousands of operations. That helps
where layers are to be spread over many devices, and misleads where the best placement cuts through
them (docs/baselines.md), so that the rest of the budget is annealing as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baselines.annealing import Annealing
from baselines.local_search.module_placements import Laid, ModulePlacements
from baselines.local_search.walk import Walk
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
    """Annealing, half of it from the best placements of whole modules."""

    modular: float = 0.5
    """Share of the budget for placing modules and annealing the best of these placements."""
    coarse: float = 0.35
    """Share of that for placing modules."""
    climbers: int = 16
    """Placements of modules that climb, from the fastest of those that are drawn; after each round
    the better half goes on."""
    fine: int = 4
    """Walks that start from the best of these."""

    def __post_init__(self) -> None:
        """Refuse counts below one, shares that are none, what annealing refuses (InputError)."""
        super().__post_init__()
        for name in ("climbers", "fine"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give >= 1")
        for name in ("modular", "coarse"):
            if not 0 < getattr(self, name) < 1:
                given = getattr(self, name)
                raise InputError(f"{name} is {given}; give a share, above 0 and below 1")

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Walks, some from modules. NativeCrash when METIS fails at the groups."""
        return ModularWalks(self, problem, search)


class ModularWalks(Walks):
    """Walks of which some start from the best placements of modules."""

    settings: CoarseToFine
    part = 1.0
    """Share of the budget for the walks at hand."""

    def anneal(self, starts: list[Start]) -> None:
        """Walk from each of these starts, and then from placements of modules.

        Raises BudgetExhausted when the search's seconds are over.
        """
        left, structure = 1 - self._spent(), self.layouts.structure if self.layouts else None
        self.part = left * (1 - self.settings.modular) if structure else 1.0
        super().anneal(starts)
        if structure is None:
            return
        modules = ModulePlacements(self.problem, structure, self.settings.hosted)
        found = self._placed(modules, left * self.settings.modular * self.settings.coarse)
        self.part = 1 - self._spent()
        super().anneal(found[: self.settings.fine])

    def _in_turn(self, walks: Sequence[Walk], share: float) -> None:
        """Let the walks make one step after the other, for this share of their part."""
        super()._in_turn(walks, share * self.part)

    def _placed(self, modules: ModulePlacements, share: float) -> list[Start]:
        """Search over placements of modules for a share of the budget: the fastest come first."""
        begun = self._spent()
        going = self._drawn(modules, begun + DRAWN * share)
        rounds, ended = len(going).bit_length(), list[Climber]()
        for number in range(rounds):
            part = DRAWN + (1 - DRAWN) * (number + 1) / rounds
            self._climb(modules, going, begun + part * share)
            going.sort(key=_cost)
            half = max(1, len(going) // 2)
            going, ended = going[:half], ended + going[half:]
        return [(cost, row) for cost, (_, row) in sorted(going + ended, key=_cost)]

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


def _cost(climber: Climber) -> float:
    return climber[0]
