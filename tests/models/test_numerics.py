"""What the sequence models compute, forwards and backwards, beside NumPy and beside Keras."""

from dataclasses import replace

import by_numpy
import keras
import numpy as np
import pytest
import tensorflow as tf

from models._recurrent import LSTM, Adam, Parameters
from models.gnmt import GNMT
from models.nmt import NMT
from models.rnnlm import RNNLM
from models.transformer_xl import TransformerXL
from models.wavenet import WaveNet

WORDS = 7
SIZES = {"batch": 2, "units": 5, "steps": 3, "vocabulary": WORDS}
RNN, TRANSLATION = RNNLM(**SIZES), NMT(2, 2, None, **SIZES)
MODELS = {
    "rnnlm": (RNN, by_numpy.rnnlm),
    "rnnlm, softmax per step": (replace(RNN, softmax_per_step=True), by_numpy.rnnlm),
    "nmt": (TRANSLATION, by_numpy.nmt),
    "nmt, fed": (replace(TRANSLATION, input_feeding=True), by_numpy.nmt),
    "gnmt": (GNMT(3, 3, **SIZES), by_numpy.gnmt),
    "transformer_xl": (
        TransformerXL(
            2, 2, batch=2, segment=3, memory=4, width=8, heads=2, inner=6, vocabulary=WORDS
        ),
        by_numpy.transformer_xl,
    ),
    "wavenet": (
        WaveNet(2, 3, 2, samples=9, residual=3, dilation=4, skip=5, amplitudes=WORDS),
        by_numpy.wavenet,
    ),
    "wavenet, more than a cycle": (
        WaveNet(1, 12, 1, samples=530, residual=2, dilation=2, skip=3, amplitudes=WORDS),
        by_numpy.wavenet,
    ),
}


@pytest.fixture
def optimizers(monkeypatch):
    """All that are made."""
    made, create = [], Adam.__init__

    def keep(self, variables):
        create(self, variables)
        made.append(self)

    monkeypatch.setattr(Adam, "__init__", keep)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_loss_and_gradients_are_numpys(name, optimizers):
    """After Adam's first step its first moment is a tenth of the gradient."""
    model, by_hand = MODELS[name]
    rng = np.random.default_rng(0)
    step, specs = model.build()
    batch = [
        rng.integers(0, WORDS, s.shape) if s.dtype == tf.int32 else rng.standard_normal(s.shape)
        for s in specs
    ]
    trained = step.get_concrete_function(*specs).graph.trainable_variables
    for variable in trained:
        variable.assign(rng.normal(0, 0.7, variable.shape))
    weights = {v.name.split(":")[0]: v.numpy().astype(np.float64) for v in trained}
    found = step(*[tf.constant(x, s.dtype) for x, s in zip(batch, specs, strict=True)])
    loss = found[0] if isinstance(found, list) else found
    assert float(loss) == pytest.approx(by_hand(model, weights, *batch), rel=1e-5)
    for scope, value in weights.items():
        way = rng.standard_normal(value.shape)
        way /= np.linalg.norm(way)
        up, down = (
            by_hand(model, weights | {scope: value + far * way}, *batch) for far in (1e-5, -1e-5)
        )
        slope = np.sum(10 * optimizers[0].slots[scope][0].numpy() * way)
        assert slope == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-6), scope


def test_an_lstm_is_keras():
    """Keras has the forget gate before the new input, and the forget gate's 1 in its bias."""
    rng = np.random.default_rng(0)
    inputs, units, steps = 3, 4, 5
    layer = LSTM(Parameters(), "lstm", inputs, units)
    for weight in (layer.kernel, layer.bias):
        weight.assign(rng.standard_normal(weight.shape))
    x = tf.constant(rng.standard_normal((2, steps, inputs)), tf.float32)
    state = [tf.constant(rng.standard_normal((2, units)), tf.float32) for _ in range(2)]
    outputs, (memory, _) = layer.unroll(tf.unstack(x, axis=1), (state[0], state[1]))
    order = [0, 2, 1, 3]
    parts = [np.split(w.numpy(), 4, -1) for w in (layer.kernel, layer.bias)]
    kernel, bias = (np.concatenate([part[i] for i in order], -1) for part in parts)
    bias[units : 2 * units] += 1
    other = keras.layers.LSTM(units, return_sequences=True, return_state=True)
    other.build(x.shape)
    other.set_weights([kernel[:inputs], kernel[inputs:], bias])
    wanted, _, wanted_memory = other(x, initial_state=[state[1], state[0]])
    np.testing.assert_allclose(np.stack(outputs, 1), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(memory, wanted_memory, rtol=1e-5, atol=1e-6)


def test_adam_is_keras():
    """Three steps of Kingma and Ba's, algorithm 1 in the order of section 2's last lines."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal(4).astype(np.float32)
    ours, theirs = tf.Variable(start, name="w"), keras.Variable(start)
    adam, optimizer = Adam([ours]), keras.optimizers.Adam(1e-3, epsilon=1e-8)
    for power, beta in zip(adam.powers, Adam.BETAS, strict=True):
        assert float(power) == pytest.approx(beta)
    for _ in range(3):
        gradient = tf.constant(rng.standard_normal(4), tf.float32)
        adam.update(ours, gradient)
        adam.advance()
        optimizer.apply([gradient], [theirs])
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
