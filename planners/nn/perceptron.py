"""Dense layers with dropout between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros


class Perceptron:
    """Dense layers with rectifiers and dropout between them."""

    def __init__(self, rng: np.random.Generator, sizes: Sequence[int]) -> None:
        """Draw weights for layers from each size to the next."""
        self.layers = [(glorot("w", rng, a, b), zeros("b", b)) for a, b in pairwise(sizes)]

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        return [variable for layer in self.layers for variable in layer]

    def __call__(self, x: Tensor, masks: Sequence[Tensor] = ()) -> Tensor:
        """float32[rows, last size] of float32[rows, first size].

        ``masks``, float32[rows, size] each: factors of what goes into each layer but the first;
        none: no dropout.
        """
        for i, (weights, bias) in enumerate(self.layers):
            if i:
                x = tf.nn.relu(x)
                if masks:
                    x = x * masks[i - 1]
            x = tf.matmul(x, weights) + bias
        return x


def normalised(x: Tensor) -> Tensor:
    """Each row with mean 0 and variance 1 (layer normalisation without weights)."""
    away = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    result: Tensor = away * tf.math.rsqrt(tf.reduce_mean(away**2, axis=-1, keepdims=True) + 1e-6)
    return result
