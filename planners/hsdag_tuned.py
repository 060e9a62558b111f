"""HSDAG with changes of ours, under which it learns more from as many placements.

Not from a paper.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planners.features.coarse_graph import Coarse
from planners.hsdag import HSDAG, Policy
from suite.core.arrays import Floats


@dataclass(frozen=True)
class HSDAGTuned(HSDAG):
    """Compares the placements of an episode, all drawn from one state."""

    dropout: float = 0.0
    """No noise but that of the draws."""
    epochs: int = 1
    """Further steps would follow placements that the policy would no longer draw."""
    learning_rate: float = 0.001
    """Ten times the paper's."""
    discount: float = 1.0
    """All placements of an episode count alike."""
    baseline: str = "mean"
    """Of the episode."""
    carry: bool = False
    """Every step sees the same."""

    def policy(self, graph: Coarse, rng: np.random.Generator) -> Policy:
        """The network, which weighs all devices alike at first.

        Weights as drawn prefer one device for all groups, and as each group is best off where the
        others are, that decides: on ResNet-50 all ends on the CPU, which takes twice as long.
        """
        made = super().policy(graph, rng)
        for variable in made.placer.layers[-1]:
            variable.assign(np.zeros(variable.shape, np.float32))
        return made

    def weights(self, rewards: Floats) -> Floats:
        """Advantages in standard deviations of the episode's rewards: float64[steps]."""
        advantages = super().weights(rewards)
        return np.asarray(advantages / (advantages.std() + 1e-9))
