"""Adam, and all that it remembers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, Variable


class Optimizer:
    """Adam (Kingma and Ba 2015)."""

    def __init__(self, variables: Sequence[Variable], epsilon: float = 1e-8) -> None:
        """Prepare for these variables; ``epsilon`` is added to the root of the second moment."""
        self.variables = list(variables)
        self._adam = tf.keras.optimizers.Adam(epsilon=epsilon)
        self._adam.build(self.variables)
        self._apply = tf.function(self._step, autograph=False)

    def apply(self, gradients: Sequence[Tensor], rate: float) -> None:
        """Descend the gradients, one per variable, at this learning rate."""
        self._adam.learning_rate.assign(rate)
        self._apply(list(gradients))

    def _step(self, gradients: list[Tensor]) -> None:
        self._adam.apply_gradients(zip(gradients, self.variables, strict=True))

    def state(self) -> dict[str, NDArray[np.generic]]:
        """Weights and moments, by position."""
        arrays = [*self.variables, *self._adam.variables]
        return {str(i): np.asarray(array) for i, array in enumerate(arrays)}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Put saved weights and moments back."""
        for i, variable in enumerate([*self.variables, *self._adam.variables]):
            variable.assign(state[str(i)])
