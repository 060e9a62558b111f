"""ColocRL (Mirhoseini et al., Device Placement Optimization with Reinforcement Learning, 2017)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planners._settings import Settings
from planners._start import start_tensorflow
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search

SETTINGS = Settings(
    baseline_start="failing",
    outputs=1,
    dimensions=4,
    tanh_constant=0.0,
    temperature=1.0,
    learning_rate=0.001,
    noise_updates=0,
    valid_only_after=5000,
)
"""Sequence-to-sequence policy, sqrt reward, moving-average baseline that starts at the failing
signal, valid placements only after 5,000 updates, K = 4 samples (sections 3.1 to 3.3). The paper
gives neither the size of the LSTM, nor the learning rate (at HDP's 0.1 the policy collapses), nor
the number of updates, nor the failing signal: HDP's are taken, and a rate of 0.001."""


@dataclass(frozen=True)
class ColocRL:
    """An attentional sequence-to-sequence policy over hand-made co-location groups.

    The groups come with the problem (suite/core/colocation.py). The sum of the operations' learned
    type embeddings is a linear map of the groups' type counts, so it is part of the encoder's input
    weights here.
    """

    change: Mapping[str, Any] = field(default_factory=dict)
    """Settings to change, such as ``{"updates": 100}``."""
    settings: Settings = field(init=False)
    """The settings that follow."""

    def __post_init__(self) -> None:
        """Resolve the settings; InputError names an unknown one."""
        object.__setattr__(self, "settings", SETTINGS.with_changes(self.change))

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        start_tensorflow()
        from planners._hierarchy import Hierarchy
        from planners._reinforce import Reinforce
        from planners._units import Units

        units, settings = Units(problem), self.settings
        grouping = problem.groups[units.leaders].astype(np.int64)
        groups = int(grouping.max()) + 1
        policy = Hierarchy(units, grouping, groups, settings, search.rng)
        search.note(groups=groups)
        return Reinforce(policy, search, settings).run()
