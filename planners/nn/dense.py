"""A dense layer."""

from __future__ import annotations

import numpy as np

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros


class Dense:
    """Weights and biases."""

    def __init__(
        self, rng: np.random.Generator, inputs: int, outputs: int, *, silent: bool = False
    ) -> None:
        """Draw weights; a ``silent`` layer starts at zeros."""
        start = zeros("w", inputs, outputs) if silent else glorot("w", rng, inputs, outputs)
        self.variables: list[Variable] = [start, zeros("b", outputs)]

    def __call__(self, x: Tensor) -> Tensor:
        """float32[..., outputs] of float32[..., inputs]."""
        weights, bias = self.variables
        y: Tensor = tf.tensordot(x, weights, 1) + bias
        return y
