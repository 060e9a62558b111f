"""Weights of the steps of an episode, where a planner says what they are."""

from __future__ import annotations

from collections.abc import Callable

from planners.policy_gradient.rewards import Baseline, Credit
from suite.core.arrays import Bools, Floats


class Weighted(Baseline):
    """Follows each step's log-probabilities as far as a function of all rewards says."""

    def __init__(self, weights: Callable[[Floats], Floats]) -> None:
        """``weights`` turns the rewards of an episode, float64[steps], into weights, the same."""
        super().__init__(decay=0.0, valid_only_after=0, value=0.0)
        self._weights = weights

    def credit(self, rewards: Floats, valid: Bools, update: int) -> Credit:
        """Weights of an episode's steps; nothing is remembered."""
        weights = self._weights(rewards)
        return Credit(weights, float(weights.sum()))
