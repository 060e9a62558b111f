"""A baseline that compares the placements of an update with each other."""

from __future__ import annotations

import numpy as np

from planners.policy_gradient.rewards import Baseline, Credit
from suite.core.arrays import Bools, Floats


class BatchBaseline(Baseline):
    """Compares the placements of an update with each other."""

    def weights(self, rewards: Floats, counted: Bools, before: float) -> Credit:
        """Weight the samples by their difference to the mean, in standard deviations.

        Their grouping has the difference of the mean to the average ``before``, within -1 and 1.
        """
        mean, spread = float(rewards[counted].mean()), float(rewards[counted].std()) + 1e-6
        advantages = np.where(counted, rewards - mean, 0.0) / (spread * counted.sum())
        return Credit(advantages, float(np.clip((mean - before) / spread, -1, 1)))
