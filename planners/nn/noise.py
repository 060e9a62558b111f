"""Exploration noise on logits (HDP, section 4.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from planners._settings import Settings
from planners.nn.weights import Tensor


def normal(
    rng: np.random.Generator, shape: tuple[int, ...], settings: Settings, update: int
) -> NDArray[np.float32]:
    """Draw the noise of one update, float32[shape]; zeros once the noisy updates are over."""
    if update >= settings.noise_updates or not settings.noise_size:
        return np.zeros(shape, np.float32)
    values = rng.standard_normal(shape, np.float32)
    if settings.noise == "amplitude":
        values *= settings.noise_size / np.abs(values).max()
    return values


def perturb(logits: Tensor, noise: Any, settings: Settings) -> Tensor:
    """Add the noise; under ``rms`` it is a share of the logits' root mean square."""
    if settings.noise == "amplitude":
        return logits + noise
    size = settings.noise_size * tf.sqrt(tf.reduce_mean(logits**2))
    return logits + size * noise
