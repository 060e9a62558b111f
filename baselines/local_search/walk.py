"""One search's walks among placements: where they start, what they try, what they accept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.critical_chain import Tracer
from baselines.local_search.crossover import Crossover
from baselines.local_search.layouts import Layout, Layouts
from baselines.local_search.moves import Moves
from baselines.local_search.patterns import Patterns
from baselines.structure.find import find_structure
from suite.core.arrays import Floats
from suite.core.errors import BudgetExhausted, Unsupported
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.search.subprocess_call import NativeCrash
from suite.simulator.timeline import Timeline

if TYPE_CHECKING:
    from baselines.annealing import Annealing

Classes = NDArray[np.int64]
DEFAULT = 4000
"""Placements evaluated by a search without any budget."""
FOR_EACH = 125
"""Evaluations for each walk of the first round, and for each neighbour judged at a time: fewer come
to no depth. Measured: docs/baselines.md."""
SEVERAL = 8
"""Walks of the first round, until there are ENOUGH evaluations for each of more."""
ENOUGH = 500
FAVOURED = 4
"""Mean rank, from 1, of the layouts that are varied."""
ATTEMPTS = 4
"""Layouts drawn at most for one that was not judged before."""
AT_ONCE = 8
"""Starting points judged at a time: as few as this, so that a large graph's do not fill memory."""


class Walk:
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
        structure = find_structure(problem) if settings.patterns or self.drawn else None
        self.layouts = Layouts(problem, structure) if structure else None
        devices = problem.machine.n_devices
        kinds = settings.patterns
        patterns = Patterns(structure, devices, kinds) if structure and kinds else None
        shares = settings.patterned, settings.crossed, settings.settled
        self.moves = Moves.of(problem, search.rng, patterns, *shares)
        self.crossover = Crossover(problem)
        self.current, self.cost = np.zeros(problem.graph.n_classes, np.int64), np.inf
        self._looked = False

    def _divide(self, evaluations: float) -> None:
        """Choose how many walks share so many evaluations, and how many neighbours a step has."""
        settings, most = self.settings, max(1, evaluations / FOR_EACH)
        self.walks = int(min(settings.walks, max(min(SEVERAL, most), evaluations / ENOUGH)))
        self.batch = int(min(settings.batch, most))

    def starts(self) -> list[tuple[float, Classes]]:
        """Costs and class devices to start from: the fastest of answers, layouts, random parts.

        Raises BudgetExhausted when the budget does not allow to judge them.
        """
        settings, rng = self.settings, self.search.rng
        found = [start for name in settings.starts for start in self._answer(name)]
        found += [self.moves.random(rng) for _ in range(self.walks - len(found) - self.drawn)]
        begun = self.search.elapsed
        pairs = self._with_costs(found) + self._laid_out()
        if self.search.max_seconds is not None:
            # Only now is known how many evaluations the seconds may allow.
            now = self.search.elapsed
            pace = len(pairs) / max(now - begun, 1e-9)
            self._divide(min(self.total, pace * (self.search.max_seconds - now)))
        pairs = sorted(pairs, key=lambda pair: pair[0])[: self.walks]
        self.current, self.cost = pairs[0][1], pairs[0][0]
        return pairs

    def _with_costs(self, rows: list[Classes]) -> list[tuple[float, Classes]]:
        """Judge placements, int64[n_classes] each."""
        pairs: list[tuple[float, Classes]] = []
        for first in range(0, len(rows), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            pairs += zip(self._costs(np.stack(some)).tolist(), some, strict=True)
        return pairs

    def _laid_out(self) -> list[tuple[float, Classes]]:
        """Judge layouts: half of them drawn, then variations of the fastest."""
        pairs: list[tuple[float, Classes]] = []
        if self.layouts is None:
            return pairs
        tried: list[Layout] = []
        seen: set[bytes] = set()
        while len(tried) < self.drawn:
            best = np.argsort([cost for cost, _ in pairs], kind="stable")
            fastest = [tried[at] for at in best] if len(tried) >= self.drawn / 2 else []
            rows = []
            for _ in range(min(AT_ONCE, self.drawn - len(tried))):
                layout, row = self._new_layout(self.layouts, fastest, seen)
                seen.add(row.tobytes())
                tried.append(layout)
                rows.append(row)
            pairs += self._with_costs(rows)
        return pairs

    def _new_layout(
        self, layouts: Layouts, fastest: list[Layout], seen: set[bytes]
    ) -> tuple[Layout, Classes]:
        """Draw a layout, or vary one of these, until it places as none before; ATTEMPTS at most."""
        rng = self.search.rng
        for _ in range(ATTEMPTS):
            if fastest:
                rank = min(int(rng.geometric(1 / FAVOURED)), len(fastest)) - 1
                layout = layouts.vary(fastest[rank], rng)
            else:
                layout = layouts.draw(rng)
            row = layouts.laid(layout)
            if row.tobytes() not in seen:
                break
        return layout, row

    def _answer(self, name: str) -> list[Classes]:
        """The class devices that a placer answers with, if it does."""
        seed = int(self.search.rng.integers(2**31))
        # What is left after it must do for judging the starting points.
        judged = self.walks + self.drawn
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

    def anneal(self, going: list[tuple[float, Classes]]) -> None:
        """Walk from each of these starts; after each round the better half goes on.

        A walk takes over parts of what the others begin its round with: their starts in the first,
        then the ends of all walks of the round before, left behind or not.

        Raises BudgetExhausted when the search's seconds are over.
        """
        rounds, others = len(going).bit_length(), [row for _, row in going]
        for number in range(rounds):
            share, heat = 1 / (rounds * len(going)), self.settings.temperature / 2**number
            ended = []
            for cost, row in going:
                self._take_over(row, others)
                ended.append(self.run(cost, row, share, heat))
            ended.sort(key=lambda pair: pair[0])
            going, others = ended[: max(1, len(going) // 2)], [row for _, row in ended]

    def _take_over(self, row: Classes, others: list[Classes]) -> None:
        """Let a walk that starts at ``row`` take over parts of these others' placements."""
        if self.settings.crossed and len(others) > 1:
            near = [self.crossover.renamed(other, row) for other in others if other is not row]
            self.moves.others = np.stack(near)

    def run(self, cost: float, start: Classes, share: float, heat: float) -> tuple[float, Classes]:
        """Anneal from ``start``, of that cost, with this share of the budget or what is left.

        Returns the best cost in seconds and its class devices.
        """
        begun, rng = self._spent(), self.search.rng
        end = min(1.0, begun + share)
        best, best_cost = start, cost
        self._go_to(start, cost)
        while self._spent() < end:
            if not self._looked:
                self.look(self.tracer.times(self.moves.placed(self.current[None])[0]))
                self._looked = True
            drawn = self.neighbours()
            left = max(0.0, (end - self._spent(len(drawn))) / (end - begun))
            most = self.cost * (1 + heat * left**2 * rng.exponential())
            costs = self.judged(drawn, most)
            index = int(np.argmin(costs))
            if costs[index] <= most:
                self._go_to(drawn[index], float(costs[index]))
            if self.cost < best_cost:
                best, best_cost = self.current, self.cost
        return best_cost, best

    def _go_to(self, row: Classes, cost: float) -> None:
        self.current, self.cost, self._looked = row, cost, False

    def look(self, times: Timeline) -> None:
        """See what could be better at the current placement, in the times of its step."""
        self.chain = self.tracer.chain(times)

    def neighbours(self) -> Classes:
        """Changes of the current placement that are worth a try: int64[batch, n_classes]."""
        settings, rng = self.settings, self.search.rng
        return self.moves.neighbours(self.current, self.batch, settings.guided, self.chain, rng)

    def judged(self, rows: Classes, most: float) -> Floats:
        """Seconds that changes of the current placement cost, float64[rows]; exact up to most."""
        return self._costs(rows, most)

    def _spent(self, more: int = 0) -> float:
        """Share of the budget, in evaluations or in seconds, whichever is further gone.

        ``more`` evaluations are counted beside those that were.
        """
        spent = (self.search.evaluations + more + self.batch - 1) / self.total
        if self.search.max_seconds is None:
            return spent
        return max(spent, self.search.elapsed / self.search.max_seconds)

    def _costs(self, rows: Classes, within: float = np.inf) -> Floats:
        """Seconds of placements, int64[rows, n_classes], and what missing memory costs."""
        scores = self.search.evaluate(self.moves.placed(rows), within=within)
        memory = self.problem.machine.memory
        missing = np.maximum(0, (scores.peak_memory / memory).max(axis=1) - 1)
        return np.asarray(scores.step_time * (1 + self.settings.overload * missing), np.float64)
