"""Both networks draw with the probabilities they then report."""

from __future__ import annotations

from itertools import product

import numpy as np
import tensorflow as tf
from six_ops import six_ops

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP

DRAWS = 20_000


def test_placer_draws_with_the_probabilities_it_reports() -> None:
    rng = np.random.default_rng(0)
    settings = HDP(hidden=8, tanh_constant=0.0, temperature=0.3)
    embedding = settings.group_embedding(ClassGraph(six_ops()), 3)
    network = settings.placer(embedding, 2, rng)
    groups = tf.constant(rng.normal(size=(3, embedding.width)), tf.float32)
    every = tf.constant(list(product(range(2), repeat=3)), tf.int32)
    logs, scalars = network.log_probabilities(groups, every)
    expected = np.exp(logs.numpy())
    assert abs(expected.sum() - 1) < 1e-5
    uniforms = tf.constant(rng.random((3, DRAWS)), tf.float32)
    drawn = network.draw(groups, uniforms, tf.zeros([3, DRAWS, 2])).numpy()
    shares = np.bincount(drawn @ [4, 2, 1], minlength=8) / DRAWS
    assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / DRAWS)
    assert 0 < float(scalars["entropy"]) <= np.log(2)


def test_grouper_draws_with_the_probabilities_it_reports() -> None:
    rng = np.random.default_rng(0)
    network = HDP(groups=3, noise_updates=0).grouper(ClassGraph(six_ops()), rng)
    drawn = network.sample(rng, DRAWS, 0)
    for unit in range(6):
        shares = np.bincount(drawn[:, unit], minlength=3) / DRAWS
        rows = np.tile(drawn[:1], (3, 1))
        rows[:, unit] = range(3)
        logs, _ = network.log_probabilities(tf.constant(rows))
        expected = np.exp(logs - tf.reduce_logsumexp(logs))
        assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / DRAWS)


def test_first_amplitude_noise_is_a_tenth_at_most() -> None:
    rng, noise = np.random.default_rng(0), HDP().noise
    assert np.isclose(np.abs(noise.draw(rng, (1000,), 499)).max(), 0.1)
    assert not noise.draw(rng, (1000,), 500).any()
