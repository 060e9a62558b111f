"""PPO (Schulman et al. 2017) over many decisions, each drawn on its own, with its own ratio."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planners.nn.backend import tf
from planners.nn.tensor import Tensor
from suite.core.arrays import Floats


def draw(
    chances: NDArray[np.floating], samples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Choices int64[samples, decisions] by float[decisions, options] that sum to 1 in each row."""
    exact = chances.astype(np.float64)
    below = exact.cumsum(axis=1)[:, :-1] / exact.sum(axis=1, keepdims=True)
    points = rng.random((samples, len(chances), 1))
    return np.asarray((points >= below).sum(axis=2), np.int64)


def mean_gain(
    log_chances: Tensor, chosen: Tensor, old: Tensor, advantages: Tensor, clip: float
) -> Tensor:
    """What an update gains by now: the mean over decisions, so that their number is no matter.

    ``log_chances``: float32[decisions, options] of now; ``chosen``, int64[samples, decisions], were
    drawn with the chances ``old``, float32[samples, decisions]; ``advantages``: float32[samples],
    the weights of the samples, which are summed.
    """
    decisions = tf.broadcast_to(tf.range(log_chances.shape[0], dtype=tf.int64), tf.shape(chosen))
    new = tf.exp(tf.gather_nd(log_chances, tf.stack([decisions, chosen], axis=2)))
    gain = clipped(new / old, advantages[:, None], clip)
    summed: Tensor = tf.reduce_sum(tf.reduce_mean(gain, axis=1))
    return summed


def clipped(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """The gain of each decision: the lesser of ratio A and the clipped ratio's."""
    bounded = tf.clip_by_value(ratio, 1 - clip, 1 + clip)
    gain: Tensor = tf.minimum(ratio * advantages, bounded * advantages)
    return gain


def mean_entropy(log_chances: Tensor) -> Tensor:
    """Of the decisions, from float32[decisions, options]."""
    entropy: Tensor = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_chances) * log_chances, axis=1))
    return entropy


def softening(logits: NDArray[np.floating], share: float) -> float:
    """By what to divide logits, float[decisions, options], lest the policy is too certain.

    The least number, 1 or more, at which the mean entropy of the decisions is ``share`` of what it
    is where all options are alike.
    """
    exact = logits.astype(np.float64)
    exact -= exact.max(axis=1, keepdims=True)
    wanted = share * np.log(exact.shape[1])

    def entropy(divisor: float) -> Floats:
        powers = exact / divisor
        sums = np.exp(powers).sum(axis=1, keepdims=True)
        logs = powers - np.log(sums)
        return np.asarray(-(np.exp(logs) * logs).sum(axis=1).mean())

    low, high = 0.0, 0.0  # logarithms: entropy grows with the divisor
    while entropy(np.exp(high)) < wanted:
        low, high = high, high + 1.0
    for _ in range(30 if high else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if entropy(np.exp(middle)) >= wanted else (middle, high)
    return float(np.exp(high))
