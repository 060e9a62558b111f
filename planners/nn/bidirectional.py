"""A bidirectional LSTM over one sequence."""

from __future__ import annotations

import numpy as np

from planners.nn.backend import tf
from planners.nn.lstm import lstm, with_forget_bias
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros


class Bidirectional:
    """Two LSTMs, one from each end, whose states are put side by side."""

    def __init__(
        self, features: int, units: int, forget_bias: float, rng: np.random.Generator
    ) -> None:
        """Create the weights; each direction has half of the ``units``."""
        self.forget_bias = forget_bias
        half = units // 2
        self.sides = [
            (
                glorot(f"encoder/{side}/input", rng, features, 4 * half),
                glorot(f"encoder/{side}/hidden", rng, half, 4 * half),
                zeros(f"encoder/{side}/bias", 4 * half),
            )
            for side in ("forward", "backward")
        ]

    @property
    def variables(self) -> list[Variable]:
        """All weights, in a fixed order."""
        return [variable for side in self.sides for variable in side]

    def read(self, sequence: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read float32[steps, features]: hidden states [steps, units], last hidden, cell [units].

        The last states, float32[1, units], are those of the two directions' own ends.
        """
        results = []
        for (kernel, recurrent, bias), step in zip(self.sides, (1, -1), strict=True):
            gates = sequence[::step] @ kernel + with_forget_bias(bias, self.forget_bias)
            nothing = tf.zeros([1, recurrent.shape[0]])
            hidden, cell = lstm(gates[:, None], recurrent, nothing, nothing)
            results.append((hidden[::step, 0], hidden[-1], cell))
        memory, hidden, cell = (tf.concat(parts, -1) for parts in zip(*results, strict=True))
        return memory, hidden, cell
