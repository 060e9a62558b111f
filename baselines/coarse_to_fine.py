"""Annealing twice, as it is and from placements of whole modules, and on from the better of both.

Not from a paper; multilevel search. A placement by modules is judged as any other, so that what is
found for a few dozen of them, mostly layers, holds for tens of thousands of operations. That helps
where layers are to be spread over many devices, and misleads where the best placement cuts through
them (docs/baselines.md): hence both, and half of the budget for whichever comes further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from baselines.annealing import Annealing
from baselines.local_search.module_placements import Laid, ModulePlacements
from baselines.local_search.walk import Classes, Walk
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
    """Annealing as it is, annealing from placements of modules, then on from the better."""

    each: float = 0.25
    """Share of the budget for either; what is left is for the better of both."""
    coarse: float = 0.35
    """Share of the second's budget for placing modules."""
    climbers: int = 16
    """Placements of modules that climb, from the fastest of those that are drawn; after each round
    the better half goes on."""
    fine: int = 4
    """Walks that start from the best of these."""
    further: int = 7
    """Walks that go on from where those of the better ended, besides one from the other's best."""

    def __post_init__(self) -> None:
        """Refuse counts below one, shares that are none, what annealing refuses (InputError)."""
        super().__post_init__()
        for name in ("climbers", "fine", "further"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; give >= 1")
        for name, most in (("each", 0.5), ("coarse", 1)):
            if not 0 < getattr(self, name) < most:
                given = getattr(self, name)
                raise InputError(f"{name} is {given}; give a share, above 0 and below {most}")

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Walks, some from modules. NativeCrash when METIS fails at the groups."""
        return ModularWalks(self, problem, search)


class ModularWalks(Walks):
    """Walks from the starts of annealing, from placements of modules, and on from the better."""

    settings: CoarseToFine
    part: float
    """Share of the budget for the walks at hand."""

    def anneal(self, starts: list[Start]) -> None:
        """Walk from these starts, then from placements of modules, then on from the better ends.

        Raises BudgetExhausted when the search's seconds are over.
        """
        self._ends(self._better(starts), 1 - self._spent())

    def _better(self, starts: list[Start]) -> list[Start]:
        """What to go on from, after walks from these starts and from placements of modules."""
        if self.layouts is None:
            return starts
        settings, structure = self.settings, self.layouts.structure
        each = (1 - self._spent()) * settings.each
        plain = self._ends(starts, each)
        begun, modules = self._spent(), ModulePlacements(self.problem, structure, settings.hosted)
        placed = self._placed(modules, each * settings.coarse)
        modular = self._ends(placed[: settings.fine], each - (self._spent() - begun))
        better, other = sorted([plain, modular], key=lambda ends: ends[0][0])
        return [*better[: settings.further], other[0]]

    def _ends(self, starts: list[Start], part: float) -> list[Start]:
        """Walk from these starts for this share of the budget: the walks' best, fastest first."""
        self.part, self._walked = part, list[Walk]()
        super().anneal(starts)
        # Walks of a round go on in the next: who finds nothing more ends where it began.
        ends = {walk.best.tobytes(): (walk.best_cost, walk.best) for walk in self._walked}
        return sorted(ends.values(), key=lambda end: end[0])

    def walk(
        self, cost: float, row: Classes, others: Classes, heat: float, rng: np.random.Generator
    ) -> Walk:
        """One walk of this search, of which it is noted."""
        walk = super().walk(cost, row, others, heat, rng)
        self._walked.append(walk)
        return walk

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
