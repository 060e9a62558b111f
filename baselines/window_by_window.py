"""Coarse to fine, then one short window of the step's time after another.

Not from a paper; rolling windows are known from job-shop scheduling (Singer 2001, "Decomposition
methods for large job shops"). A change to what happens late in a step leaves all before it as it
is. So the step is simulated once up to where a window begins, and on from there for each of many
changes of where the window's operations are, which takes a hundredth of a step's time and less.
What a change makes of the step is estimated: what follows each operation of the window stays as
long as it was. The placements that are estimated to be fastest are judged.

It pays where thousands of operations follow one another, each of which matters a little; where it
does not, walks go on (docs/baselines.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.coarse_to_fine import CoarseToFine, ModularWalks
from baselines.local_search.walk import Classes
from baselines.local_search.walks import Start, Walks
from baselines.local_search.windows.search import Found, Windows
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator
from suite.simulator.semantics import PLACEBENCH

TOGETHER = 4
"""Windows that are searched from one placement: side by side, as far as there are cores."""
SPREAD = 0.5
"""Standard deviation of the logarithm of a window's width."""
WIDEST = 0.9
PROBE = 0.04
"""Share of the budget after which windows have to have paid."""


@dataclass(frozen=True)
class WindowByWindow(CoarseToFine):
    """Coarse to fine; before its last walks, windows as long as they pay."""

    width: float = 0.03
    """Share of the step that a window spans, in the median."""
    trials: int = 300
    """Changes that are tried in each window."""
    pays: float = 0.001
    """Share of the step time that the windows of a 25th of the budget must save; if they do not,
    walks go on with what is left."""

    def __post_init__(self) -> None:
        """Refuse shares that are none, counts below one, what coarse_to_fine refuses."""
        super().__post_init__()
        if not 0 < self.width < 1:
            raise InputError(f"width is {self.width}; give a share, above 0 and below 1")
        if self.trials < 1:
            raise InputError(f"trials is {self.trials}; give >= 1")
        if not 0 <= self.pays <= 1:
            raise InputError(f"pays is {self.pays}; give a share, 0 to 1")

    def walks_of(self, problem: Problem, search: Search) -> Walks:
        """Walks, and windows after them. NativeCrash when METIS fails at the groups."""
        return WindowWalks(self, problem, search)


class WindowWalks(ModularWalks):
    """Walks from coarse to fine, and windows before the last of them."""

    settings: WindowByWindow

    def __init__(self, settings: WindowByWindow, problem: Problem, search: Search) -> None:
        """Prepare for both."""
        self._simulated = 0.0
        """Whole steps that take as long to simulate as all windows so far."""
        super().__init__(settings, problem, search)
        # A judge that has other rules, or is no simulator, judges what these rules find.
        default = self.tracer.simulator.semantics == PLACEBENCH
        self.windows = Windows(problem, self.tracer.simulator if default else Simulator(problem))

    def anneal(self, starts: list[Start]) -> None:
        """Walk from these starts, in windows as long as that pays, and on from the best.

        Raises BudgetExhausted when the search's seconds are over.
        """
        going, saved = self._better(starts), 1.0
        while self._spent() < 1 and saved >= self.settings.pays:
            saved = self.search_windows(self._spent() + PROBE)
        slower = [start for start in going if start[0] > self.cheapest[0]]
        self._ends([self.cheapest, *slower], 1 - self._spent())

    def _spent(self, more: int = 0) -> float:
        """Share of what the budget is at the time; windows count as the steps they simulate."""
        spent = super()._spent(more)
        if self.search.max_seconds is None:
            spent += self._simulated / self.total
        return min(1.0, spent)

    def search_windows(self, until: float) -> float:
        """Search in windows until that share of the budget is spent; the share of time saved."""
        rng, begun, cost, step = self.search.rng, self.cheapest[0], np.inf, None
        # Of few evaluations no probe takes more than its share.
        most = PROBE * self.total / (TOGETHER * self.settings.width)
        trials = max(1, int(min(self.settings.trials, most)))
        while self._spent() < min(1.0, until):
            if step is None or self.cheapest[0] < cost:
                cost = self.cheapest[0]
                row = np.asarray(self.moves.fitted(self.cheapest[1]), np.int64)
                step = self.windows.traced(row)
            spans = [self._span(rng) for _ in range(TOGETHER)]
            found = self.windows.search(step, spans, trials, rng)
            self._simulated += sum(one.simulated for one in found)
            self.search.note(windows_simulated=round(self._simulated))
            self._judge(step.row, found)
        return 1 - self.cheapest[0] / begun

    def _span(self, rng: np.random.Generator) -> tuple[float, float]:
        """Where in the step a window begins and ends, shares of its time."""
        width = min(WIDEST, self.settings.width * float(np.exp(SPREAD * rng.normal())))
        first = float(rng.uniform(0, 1 - width))
        return first, first + width

    def _judge(self, row: Classes, found: list[Found]) -> None:
        """Judge what was found in each window; what is faster is joined, as far as that holds."""
        some = [one.rows[at] for one in found for at in _spread(len(one.rows))]
        if not some:
            return
        cost = self.cheapest[0]
        costs = self._costs(np.stack(some), cost)
        faster = [some[at] for at in np.argsort(costs, kind="stable") if costs[at] < cost]
        joined = self.cheapest
        for other in faster[1:]:
            changed = np.where(other != row, other, joined[1])
            if (changed != joined[1]).any():
                cost = float(self._costs(changed[None], joined[0])[0])
                joined = (cost, changed) if cost < joined[0] else joined


def _spread(count: int) -> list[int]:
    """The last of so many, the first, and one between."""
    return sorted({count - 1, count // 2, 0}) if count else []
