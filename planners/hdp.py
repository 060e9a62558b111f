"""The Hierarchical Planner (Mirhoseini et al., A Hierarchical Model for Device Placement, 2018)."""

from __future__ import annotations

from dataclasses import dataclass

from planners._configured import Configured
from planners._start import start_tensorflow
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class HDP(Configured):
    """A Grouper puts operations into groups, a Placer the groups on devices; REINFORCE for both."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update, NativeCrash when METIS
        fails (``grouper_start``).
        """
        start_tensorflow()
        from baselines.partitioning.parts import parts
        from planners._grouper import Grouper
        from planners._hierarchy import Hierarchy
        from planners._reinforce import Reinforce
        from planners._units import Units

        settings, rng = self.settings, search.rng
        units = Units(problem)
        groups = settings.groups_on(problem.machine.n_devices)
        prior = None
        if settings.grouper_start == "metis":
            groups = min(units.count, groups)
            [prior] = parts(problem, [groups], rng)
        grouper = Grouper(units, groups, settings, rng, prior)
        policy = Hierarchy(units, grouper, groups, settings, rng)
        search.note(configuration=self.configuration, groups=groups)
        return Reinforce(policy, search, settings).run()
