"""Adam, and all that it remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from planners._settings import Settings


class Optimizer:
    """Adam (Kingma and Ba 2015) with the released code's decay of the rate."""

    def __init__(self, variables: Sequence[Any], settings: Settings) -> None:
        """Prepare for these variables."""
        self.variables, self.settings = list(variables), settings
        self._adam = tf.keras.optimizers.Adam(settings.learning_rate, epsilon=1e-8)
        self._adam.build(self.variables)
        self._apply = tf.function(self._step, autograph=False)

    def apply(self, gradients: Sequence[Any], update: int) -> None:
        """Descend the gradients, one per variable."""
        settings = self.settings
        decays = max(0, update - settings.rate_decay_after) // 50
        self._adam.learning_rate.assign(settings.learning_rate * settings.rate_decay**decays)
        self._apply(list(gradients))

    def _step(self, gradients: list[Any]) -> None:
        self._adam.apply_gradients(zip(gradients, self.variables, strict=True))

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights and moments, by position."""
        arrays = [*self.variables, *self._adam.variables]
        return {str(i): np.asarray(array) for i, array in enumerate(arrays)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put saved weights and moments back."""
        for i, variable in enumerate([*self.variables, *self._adam.variables]):
            variable.assign(state[str(i)])
