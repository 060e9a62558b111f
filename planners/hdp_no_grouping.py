"""Ablation of HDP: the Simple Planner, without groups (Mirhoseini et al. 2018, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

from planners._configured import Configured
from planners._start import start_tensorflow
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class NoGrouping(Configured):
    """A Grouper with one group per device: a feed-forward network places every operation alone."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        start_tensorflow()
        from planners._flat import Flat
        from planners._reinforce import Reinforce
        from planners._units import Units

        policy = Flat(Units(problem), self.settings, search.rng)
        search.note(configuration=self.configuration, groups=problem.machine.n_devices)
        return Reinforce(policy, search, self.settings).run()
