"""A grouping that is given: what stands in a Grouper's place where there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, Variable


class FixedGrouping:
    """Has no weights and always answers the same."""

    def __init__(self, grouping: NDArray[np.int64], groups: int) -> None:
        """``grouping``: int64[classes], below ``groups``."""
        self.grouping, self.groups = grouping, groups
        self.variables: list[Variable] = []

    def sample(self, rng: np.random.Generator, samples: int, update: int) -> NDArray[np.int64]:
        """Return the grouping, int64[samples, classes]."""
        return np.tile(self.grouping, (samples, 1))

    def log_probabilities(self, groupings: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """It is certain: float32[samples] of 0, and nothing to log."""
        return tf.zeros([groupings.shape[0]]), {}
