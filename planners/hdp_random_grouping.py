"""Ablation of HDP: the Placer on a random grouping (Mirhoseini et al. 2018, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass

from planners._configured import Configured
from planners._start import start_tensorflow
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class RandomGrouping(Configured):
    """Each operation in a group drawn uniformly, once per seed; only the Placer learns."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        start_tensorflow()
        from planners._hierarchy import Hierarchy
        from planners._reinforce import Reinforce
        from planners._units import Units

        units, settings = Units(problem), self.settings
        groups = settings.groups_on(problem.machine.n_devices)
        grouping = search.rng.integers(0, groups, units.count)
        policy = Hierarchy(units, grouping, groups, settings, search.rng)
        search.note(configuration=self.configuration, groups=groups)
        return Reinforce(policy, search, settings).run()
