"""One walk among placements: what it tries next, and what it accepts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats
from suite.simulator.timeline import Timeline

if TYPE_CHECKING:
    from baselines.local_search.walks import Walks

Classes = NDArray[np.int64]


class Walk:
    """Where a walk is, and the best of where it has been."""

    def __init__(
        self,
        walks: Walks,
        cost: float,
        start: Classes,
        others: Classes,
        heat: float,
        rng: np.random.Generator,
    ) -> None:
        """Begin at ``start``, int64[n_classes], which costs so many seconds.

        It takes over parts of ``others``, int64[n, n_classes], and accepts once in e what is worse
        by the share ``heat`` at first.
        """
        self.walks, self.others, self.heat, self.rng = walks, others, heat, rng
        self.current, self.cost = start, cost
        self.best, self.best_cost = start, cost
        self._looked = False

    def propose(self) -> Classes:
        """Draw what is to be judged next: int64[neighbours, n_classes]."""
        if not self._looked:
            self.look(self.walks.tracer.times(self.walks.moves.placed(self.current[None])[0]))
            self._looked = True
        return self.neighbours()

    def look(self, times: Timeline) -> None:
        """See what could be better at the current placement, in the times of its step."""
        self.chain = self.walks.tracer.chain(times)
        self.known = {self.walks.moves.name(self.current)}

    def neighbours(self) -> Classes:
        """Changes of the current placement that are worth a try: int64[batch, n_classes]."""
        return self.drawn(self.walks.batch)

    def drawn(self, count: int) -> Classes:
        """So many changes of the current placement, as they come."""
        guided = self.walks.settings.guided
        moves, chain = self.walks.moves, self.chain
        return moves.neighbours(
            self.current, count, guided, chain, self.others, self.known, self.rng
        )

    def most(self, left: float) -> float:
        """Seconds that the next placement may cost, when a share ``left`` of the walk is left."""
        return self.cost * (1 + self.heat * left**2 * self.rng.exponential())

    def judged(self, rows: Classes, costs: Floats, most: float) -> None:
        """Go to the best of what was proposed, which costs float64[rows], unless it costs more."""
        index = int(np.argmin(costs))
        if costs[index] > most:
            return
        self.current, self.cost, self._looked = rows[index], float(costs[index]), False
        if self.cost < self.best_cost:
            self.best, self.best_cost = self.current, self.cost


class ChoosingWalk(Walk):
    """A walk that has only some of the changes that it draws judged."""

    def look(self, times: Timeline) -> None:
        """See what could be better at the current placement."""
        super().look(times)
        self._tried = {self._name(self.fitted(self.current))}

    def drawn(self, count: int) -> Classes:
        """So many changes of the current placement, as they come; not all of them will be tried."""
        known = set(self.known)
        rows = super().drawn(count)
        self.known = known
        return rows

    def candidates(self, count: int) -> Classes:
        """Changes, with every class where it can run, without those that were tried.

        At most ``count``: int64[candidates, n_classes]; those that were tried where all were.
        """
        rows = self.fitted(self.drawn(count))
        new = np.flatnonzero([self._name(row) not in self._tried for row in rows])
        return rows[new] if len(new) else rows

    def chosen(self, rows: Classes) -> Classes:
        """Note that these are tried now, and return them."""
        self._tried |= {self._name(row) for row in rows}
        return rows

    def fitted(self, rows: Classes) -> Classes:
        """The same with every class where it can run."""
        return np.asarray(self.walks.moves.fitted(rows), np.int64)

    def _name(self, row: Classes) -> int:
        return self.walks.moves.name(row)
