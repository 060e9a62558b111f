"""m-SCT: small communication times under memory limits (Baechi, Jeon et al. 2020).

A linear program chooses each task's favourite child (Hanen and Munier 1995). Then earliest task
first as in m-ETF, save that a device waits for the favourite child of what it ran last: only
urgent tasks, whose inputs can be on every GPU by then, may come between.
"""

from __future__ import annotations

from dataclasses import dataclass

from baselines.list_scheduling.earliest import earliest_first
from baselines.list_scheduling.sct_lp import favourites
from baselines.list_scheduling.units import units
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class MSct:
    """Earliest task first, but favourite children follow their parents."""

    coplaced: bool = False
    """Whether Baechi's co-placement groups are placed as one instead of colocation classes."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU, or when a unit fits on none any more.

        Nothing is searched.
        """
        where = units(problem, coplaced=self.coplaced)
        return earliest_first(problem, where, favourite=favourites(problem), queued=True)
