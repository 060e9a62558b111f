"""Both networks draw with the probabilities they then report."""

from __future__ import annotations

from itertools import product

import numpy as np
import tensorflow as tf
from six_ops import six_ops

from planners._grouper import Grouper
from planners._seq2seq import Seq2Seq
from planners._settings import Settings
from planners._units import Units

DRAWS = 20_000


def test_placer_draws_with_the_probabilities_it_reports() -> None:
    rng = np.random.default_rng(0)
    settings = Settings(hidden=8, tanh_constant=0.0, temperature=0.3)
    network = Seq2Seq((3, 5), 2, settings, rng)
    groups = tf.constant(rng.normal(size=(3, 5)), tf.float32)
    every = tf.constant(list(product(range(2), repeat=3)), tf.int32)
    logs, entropy = network.log_probabilities(groups, every)
    expected = np.exp(logs.numpy())
    assert abs(expected.sum() - 1) < 1e-5
    uniforms = tf.constant(rng.random((3, DRAWS)), tf.float32)
    drawn = network.sample(groups, uniforms, tf.zeros([3, DRAWS, 2])).numpy()
    shares = np.bincount(drawn @ [4, 2, 1], minlength=8) / DRAWS
    assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / DRAWS)
    assert 0 < entropy <= np.log(2)


def test_grouper_draws_with_the_probabilities_it_reports() -> None:
    rng = np.random.default_rng(0)
    settings = Settings(noise_updates=0)
    network = Grouper(Units(six_ops()), 3, settings, rng)
    drawn = network.sample(rng, DRAWS, 0)
    for unit in range(6):
        shares = np.bincount(drawn[:, unit], minlength=3) / DRAWS
        rows = np.tile(drawn[:1], (3, 1))
        rows[:, unit] = range(3)
        logs, _ = network.log_probabilities(tf.constant(rows))
        expected = np.exp(logs - tf.reduce_logsumexp(logs))
        assert np.abs(shares - expected).max() < 4 * np.sqrt(0.25 / DRAWS)


def test_first_amplitude_noise_is_a_tenth_at_most() -> None:
    from planners.nn.noise import normal

    rng = np.random.default_rng(0)
    noise = normal(rng, (1000,), Settings(), 499)
    assert np.isclose(np.abs(noise).max(), 0.1)
    assert not normal(rng, (1000,), Settings(), 500).any()
