"""m-ETF: earliest task first under memory limits (Baechi, Jeon et al. 2020; Hwang et al. 1989).

As in Baechi, a device sends or receives one tensor at a time, and what nobody reads any more gives
its memory back; unlike in its TensorFlow version, copies received take memory, as in the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from baselines.list_scheduling.earliest import earliest_first
from baselines.list_scheduling.units import units
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class MEtf:
    """Of all ready operations and GPUs with room, the pair that can start first; then again."""

    coplaced: bool = False
    """Whether Baechi's co-placement groups are placed as one instead of colocation classes."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU, or when a unit fits on none any more.

        Nothing is searched.
        """
        return earliest_first(problem, units(problem, coplaced=self.coplaced), queued=True)
