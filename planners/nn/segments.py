"""Transformer-XL without positions (Dai et al. 2019): rows that attend to those of two segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planners.nn.backend import tf
from planners.nn.dense import Dense
from planners.nn.tensor import Tensor, Variable


class Segments:
    """Rows cut into segments of a size, the last one filled up."""

    def __init__(self, count: int, size: int) -> None:
        """Cut ``count`` rows."""
        self.count, self.size = count, min(size, count)
        self.segments = -(-count // self.size)
        self.mask = _mask(count, self.segments, self.size)

    def through(self, layers: Sequence[Layer], rows: Tensor, condition: Tensor) -> Tensor:
        """Rows float32[count, width] through layers; ``condition`` is of their shape, or 1."""
        if not layers:
            return rows
        weight = self._cut(condition) if condition.shape.rank else condition
        x = self._cut(rows)
        for layer in layers:
            x = layer(x, weight, self.mask)
        whole: Tensor = tf.reshape(x, [-1, x.shape[2]])[: self.count]
        return whole

    def _cut(self, rows: Tensor) -> Tensor:
        """float32[segments, size, width] of float32[count, width]."""
        missing = self.segments * self.size - self.count
        filled: Tensor = tf.reshape(
            tf.pad(rows, [[0, missing], [0, 0]]), [self.segments, self.size, rows.shape[1]]
        )
        return filled


def _mask(count: int, segments: int, size: int) -> NDArray[np.float32]:
    """float32[segments, 1, 1, 2 size]: 0 for rows that a segment sees, else far below 0."""
    own = np.arange(segments * size).reshape(segments, size) < count
    before = np.concatenate([np.zeros((1, size), bool), own[:-1]])
    seen = np.concatenate([before, own], axis=1)
    return np.where(seen, 0, -1e9).astype(np.float32)[:, None, None, :]


class Layer:
    """One layer of the Transformer: attention, then two dense layers, each added to its input."""

    def __init__(self, rng: np.random.Generator, width: int, heads: int) -> None:
        """Draw the weights."""
        self.heads = heads
        self.query, self.key, self.value, self.out, self.first, self.second = (
            Dense(rng, width, width) for _ in range(6)
        )

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        dense = (self.query, self.key, self.value, self.out, self.first, self.second)
        return [variable for layer in dense for variable in layer.variables]

    def __call__(self, x: Tensor, condition: Tensor, mask: NDArray[np.float32]) -> Tensor:
        """float32[segments, size, width] of the same; all segments at once.

        The layer below is known for every segment, so that no segment need wait for the one before:
        its keys and values stand beside a segment's own, and no gradient flows into them (segment
        recurrence). What each dense layer reads is multiplied by ``condition``, of the shape of
        ``x`` or 1. ``mask`` is that of the segments.
        """
        seen = condition * normalised(x)
        before = tf.stop_gradient(tf.concat([tf.zeros_like(seen[:1]), seen[:-1]], axis=0))
        context = tf.concat([before, seen], axis=1)
        query, key, value = (
            self._split(layer(what))
            for layer, what in ((self.query, seen), (self.key, context), (self.value, context))
        )
        scale = 1 / np.sqrt(x.shape[2] // self.heads)
        attention = tf.nn.softmax(scale * tf.matmul(query, key, transpose_b=True) + mask)
        mixed = tf.transpose(tf.matmul(attention, value), [0, 2, 1, 3])
        x = x + self.out(condition * tf.reshape(mixed, tf.shape(x)))
        hidden = tf.nn.relu(self.first(condition * normalised(x)))
        result: Tensor = x + self.second(condition * hidden)
        return result

    def _split(self, x: Tensor) -> Tensor:
        """float32[segments, heads, length, width / heads] of float32[segments, length, width]."""
        segments, length, width = x.shape
        apart = tf.reshape(x, [segments, length, self.heads, width // self.heads])
        split: Tensor = tf.transpose(apart, [0, 2, 1, 3])
        return split


def normalised(x: Tensor) -> Tensor:
    """Each row with mean 0 and variance 1 (layer normalisation without weights)."""
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    result: Tensor = (x - mean) * tf.math.rsqrt(variance + 1e-6)
    return result
