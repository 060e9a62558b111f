"""Additive attention (Bahdanau et al. 2015), its backward pass written by hand.

All scores of a sequence need the hyperbolic tangent of samples x steps x keys x units numbers, a
quarter of a gigabyte for HDP. One step's share fits in the cache, so the backward pass computes it
again instead of reading it back (benchmarks/policy_update.md).
"""

from __future__ import annotations

from collections.abc import Callable

from planners.nn.backend import tf
from planners.nn.tensor import Tensor, TensorArray

Backward = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]


def scores(queries: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Return ``sum(weight * tanh(query + key))`` for every pair: float32[steps, batch, keys].

    ``queries``: float32[steps, batch, units]; ``keys``: float32[keys, units]; ``weight``:
    float32[units].
    """
    result: Tensor = tf.custom_gradient(_scores)(queries, keys, weight)
    return result


def _scores(queries: Tensor, keys: Tensor, weight: Tensor) -> tuple[Tensor, Backward]:
    steps, batch, units = queries.shape
    n_keys = keys.shape[0]

    def forward(step: Tensor, kept: TensorArray) -> tuple[Tensor, TensorArray]:
        return step + 1, kept.write(step, score(queries[step], keys, weight))

    array = tf.TensorArray(tf.float32, steps, element_shape=[batch, n_keys])
    _, kept = tf.while_loop(
        lambda step, _: step < steps, forward, (0, array), maximum_iterations=steps
    )

    def backward(d_scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        def body(
            step: Tensor, d_keys: Tensor, d_weight: Tensor, kept: TensorArray
        ) -> tuple[Tensor, Tensor, Tensor, TensorArray]:
            squashed = tf.tanh(queries[step][:, None] + keys)
            d_score = d_scores[step]
            flat = tf.reshape(squashed, [-1, units])
            d_weight += tf.squeeze(tf.matmul(tf.reshape(d_score, [1, -1]), flat), 0)
            d_sum = (1 - squashed**2) * d_score[..., None]
            kept = kept.write(step, tf.reduce_sum(d_sum, 1))
            return step + 1, d_keys + tf.reduce_sum(d_sum, 0), d_weight, kept

        array = tf.TensorArray(tf.float32, steps, element_shape=[batch, units])
        start = (0, tf.zeros_like(keys), tf.zeros_like(weight), array)
        _, d_keys, d_weight, kept = tf.while_loop(
            lambda step, *_: step < steps, body, start, maximum_iterations=steps
        )
        return kept.stack() * weight, d_keys * weight, d_weight

    return kept.stack(), backward


def score(query: Tensor, keys: Tensor, weight: Tensor) -> Tensor:
    """Score one step: ``query`` float32[batch, units] -> float32[batch, keys]."""
    squashed = tf.tanh(query[:, None] + keys)
    scored: Tensor = tf.squeeze(squashed @ weight[:, None], -1)
    return scored
