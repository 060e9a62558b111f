"""What a placement is worth, and how far a policy follows it: rewards, baseline, weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.core.arrays import Bools, Floats, Ints
from suite.core.scores import Scores


def minus_root(scores: Scores, failing: float) -> Floats:
    """-sqrt(seconds) of each placement, ``failing`` where it is out of memory (HDP, section 4.2).

    Returns float64[samples].
    """
    return np.where(scores.oom, failing, -np.sqrt(scores.step_time))


def overload(scores: Scores, memory: Ints) -> Floats:
    """What is missing on the fullest device, as a multiple of its ``memory``, int64[devices].

    Returns float64[samples].
    """
    fullest = (scores.peak_memory / memory).max(axis=1)
    return np.asarray(np.maximum(0, fullest - 1), np.float64)


@dataclass(frozen=True, eq=False)
class Credit:
    """How far to follow each log-probability's gradient."""

    samples: Floats
    """float64[samples]: weight of each placement's device choices."""
    shared: float
    """Weight of what all placements of the update share: their grouping."""


@dataclass
class Baseline:
    """An exponential moving average of rewards, and the weights that follow from it."""

    decay: float
    valid_only_after: int
    """Updates after which invalid placements have weight 0 and do not count in means."""
    value: float = np.nan
    """The average; not a number before the first reward, where it starts from that."""

    def credit(self, rewards: Floats, valid: Bools, update: int) -> Credit:
        """Turn the rewards of an update, float64[samples], into weights; move the average."""
        counted = valid if update >= self.valid_only_after else np.ones_like(valid)
        if not counted.any():
            return Credit(np.zeros(len(rewards)), 0.0)
        mean = float(rewards[counted].mean())
        if np.isnan(self.value):
            self.value = mean
        before = self.value
        self.value = self.decay * before + (1 - self.decay) * mean
        return self.weights(rewards, counted, before)

    def weights(self, rewards: Floats, counted: Bools, before: float) -> Credit:
        """Weight the samples that count by their difference to the average ``before``."""
        advantages = np.where(counted, rewards - before, 0.0) / counted.sum()
        return Credit(advantages, float(advantages.sum()))
