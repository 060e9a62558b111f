"""The hand-written backward passes against TensorFlow's tape and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from planners.nn.attention import score, scores
from planners.nn.lstm import advance, lstm


def arrays(*shapes: tuple[int, ...], seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [tf.constant(rng.normal(size=shape), tf.float32) for shape in shapes]


def plain_lstm(inputs: Any, kernel: Any, hidden: Any, cell: Any) -> tuple[Any, Any]:
    """The recurrence in a Python loop, for the tape."""
    hiddens = []
    for step in inputs:
        _, cell, hidden = advance(step, kernel, hidden, cell)
        hiddens.append(hidden)
    return tf.stack(hiddens), cell


def plain_scores(queries: Any, keys: Any, weight: Any) -> Any:
    return tf.stack([score(query, keys, weight) for query in queries])


LSTM = ((5, 3, 16), (4, 16), (3, 4), (3, 4))
ATTENTION = ((5, 3, 4), (6, 4), (4,))
CASES = [(lstm, plain_lstm, LSTM), (scores, plain_scores, ATTENTION)]


def value(function: Any, inputs: list[Any]) -> Any:
    """A number that depends on every output in another way."""
    outputs = tf.nest.flatten(function(*inputs))
    weights = arrays(*(o.shape for o in outputs), seed=1)
    return tf.add_n([tf.reduce_sum(w * o) for w, o in zip(weights, outputs, strict=True)])


def gradients(function: Any, inputs: list[Any]) -> list[Any]:
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = value(function, inputs)
    return list(tape.gradient(loss, inputs))


@pytest.mark.parametrize(("ours", "plain", "shapes"), CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_value_and_gradients_equal_the_tapes(
    ours: Any, plain: Any, shapes: Any, compiled: bool
) -> None:
    inputs = arrays(*shapes)
    np.testing.assert_allclose(value(ours, inputs), value(plain, inputs), rtol=1e-4)

    def get(*inputs: Any) -> Any:
        return gradients(ours, list(inputs))

    if compiled:
        get = tf.function(get, jit_compile=True, autograph=False)
    for mine, theirs in zip(get(*inputs), gradients(plain, inputs), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("ours", "plain", "shapes"), CASES)
def test_gradients_equal_finite_differences(ours: Any, plain: Any, shapes: Any) -> None:
    inputs = arrays(*shapes)
    directions = arrays(*shapes, seed=2)
    step = 1e-2
    ends = [
        float(value(ours, [x + s * d for x, d in zip(inputs, directions, strict=True)]))
        for s in (step, -step)
    ]
    products = [
        float(tf.reduce_sum(g * d))
        for g, d in zip(gradients(ours, inputs), directions, strict=True)
    ]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(sum(products), rel=5e-3)
