"""Exploration noise on logits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.nn.tensor import Tensor


@dataclass(frozen=True)
class Noise:
    """Normal noise, scaled to a largest value, during the first updates (HDP, section 4.2)."""

    size: float
    """The largest value; 0: no noise."""
    updates: int
    """How many updates are noisy."""

    def draw(
        self, rng: np.random.Generator, shape: tuple[int, ...], update: int
    ) -> NDArray[np.float32]:
        """Draw the noise of one update, float32[shape]; zeros once the noisy updates are over."""
        if update >= self.updates or not self.size:
            return np.zeros(shape, np.float32)
        return self.scaled(rng.standard_normal(shape, np.float32))

    def scaled(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scale standard normal values, in place."""
        values *= self.size / np.abs(values).max()
        return values

    def add(self, logits: Tensor, noise: Tensor | NDArray[np.float32]) -> Tensor:
        """Add what was drawn to logits of its shape."""
        return logits + noise
