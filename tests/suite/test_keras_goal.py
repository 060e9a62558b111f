"""What a Keras model is trained for: its own rules, beside Keras' own training."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from suite.capture import from_keras
from suite.capture.options import Options
from suite.capture.unrolled import unrolled
from suite.core.errors import InputError

X = np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)
Y = np.random.default_rng(1).normal(size=(8, 1)).astype(np.float32)


class FourthPower(layers.Layer):
    """Adds to the loss whatever the model is compiled with."""

    def call(self, x):
        self.add_loss(tf.reduce_mean(x**4))
        return x


class NearFirst(keras.Model):
    """A loss of its own, of what the model was called on."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return tf.reduce_mean((x[:, :1] - y_pred) ** 2) + tf.reduce_mean(y)


class Doubled(keras.Model):
    """A step of its own."""

    def train_step(self, data):
        return super().train_step(data)


def model(kind=keras.Model, last=None, **compiled):
    """One and the same network each time: 5 numbers to 1."""
    keras.utils.set_random_seed(5)
    x = keras.Input((5,), batch_size=8, name="x")
    y = layers.Dense(1, name="y")(layers.Dense(4, activation="relu")(x))
    network = kind(x, last(y) if last else y)
    if compiled:
        network.compile(**compiled)
    return network


CASES = {
    "what layers add alone": (
        {"last": FourthPower(), "optimizer": "adam"},
        "optimizer Adam, as compiled without a loss: what its layers add",
        (X,),
    ),
    "what layers add beside a loss": (
        {"last": FourthPower(), "optimizer": "sgd", "loss": "mae"},
        "optimizer SGD and loss mae, as compiled",
        (X, Y),
    ),
    "a loss of its own": (
        {"kind": NearFirst, "optimizer": "adam"},
        "optimizer Adam and compute_loss of its own, as compiled",
        (X, Y),
    ),
    "a loss of its own in place of a compiled one": (
        {"kind": NearFirst, "optimizer": "adam", "loss": "mse"},
        "optimizer Adam and compute_loss of its own, as compiled",
        (X, Y),
    ),
}


SCALED = {"optimizer": keras.optimizers.SGD(0.1, loss_scale_factor=64.0), "loss": "mse"}


def test_a_loss_that_the_optimizer_scales_is_scaled():
    ours = model(**SCALED)
    before = ours.get_weights()
    program = from_keras.capture_keras(ours, "net", Options())
    program.function(tf.constant(X), tf.constant(Y))
    theirs = model(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    theirs.train_on_batch(X, Y)
    for one, other, first in zip(ours.get_weights(), theirs.get_weights(), before, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
        assert np.abs(one - first).max() > 1e-3


def test_weights_that_were_frozen_after_training_leave_the_optimizer_its_state():
    network = model(optimizer=keras.optimizers.Adam(0.01), loss="mse")
    network.train_on_batch(X, Y)
    network.layers[1].trainable = False
    program = from_keras.capture_keras(network, "net", Options())
    frozen = [v.numpy() for v in network.layers[1].variables]
    program.function(tf.constant(X), tf.constant(Y))
    assert int(network.optimizer.iterations) == 2
    for variable, value in zip(network.layers[1].variables, frozen, strict=True):
        np.testing.assert_array_equal(variable, value)


@pytest.mark.parametrize("case", CASES)
def test_steps_train_as_keras_trains(case):
    how, said, data = CASES[case]
    ours, theirs = model(**how), model(**how)
    program = from_keras.capture_keras(ours, "net", Options())
    assert program.graph.metadata["choices"][1] == said
    tensors = [tf.constant(one) for one in data]
    for _ in range(3):
        expected = theirs.train_on_batch(X, Y, return_dict=True)["loss"]
        assert float(program.function(*tensors)) == pytest.approx(float(expected), rel=1e-5)
    for one, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_metrics_that_were_compiled_are_said_to_be_left_out():
    of_outputs = [keras.metrics.MeanSquaredError(name="off"), "mae"]
    compiled = {"metrics": of_outputs, "weighted_metrics": ["accuracy"]}
    network = model(optimizer="sgd", loss="mse", **compiled)
    program = from_keras.capture_keras(network, "net", Options())
    said = "metrics off, mae, accuracy left out"
    assert program.graph.metadata["choices"][-1] == said


def test_a_compiled_optimizer_is_taken_without_any_loss():
    program = from_keras.capture_keras(model(optimizer="adam"), "net", Options())
    said = "optimizer Adam, as compiled without a loss: the sum of the outputs' mean squares"
    assert program.graph.metadata["choices"][1] == said


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"kind": Doubled, "optimizer": "sgd", "loss": "mse"}, "net has a train_step of its own"),
        ({"kind": Doubled}, "net has a train_step of its own"),
        (
            {"optimizer": keras.optimizers.SGD(gradient_accumulation_steps=2), "loss": "mse"},
            "work in some steps (gradient_accumulation_steps)",
        ),
        (
            {
                "optimizer": keras.optimizers.SGD(use_ema=True, ema_overwrite_frequency=2),
                "loss": "mse",
            },
            "work in some steps (ema_overwrite_frequency)",
        ),
        (
            {
                "optimizer": keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD()),
                "loss": "mse",
            },
            "optimizer scales the loss",
        ),
    ],
)
def test_what_would_be_trained_otherwise_is_refused(how, words):
    with pytest.raises(InputError) as refusal:
        from_keras.capture_keras(model(**how), "net", Options())
    assert words in str(refusal.value)


class Two(keras.Model):
    """Two outputs, whose names are not in the order of the alphabet."""

    def __init__(self):
        super().__init__()
        self.one, self.other = layers.Dense(4), layers.Dense(3)

    def call(self, x):
        return {"z": self.one(x), "a": self.other(x)}


def test_labels_are_in_the_order_that_is_told():
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    keras.utils.set_random_seed(5)
    ours = Two()
    ours.compile("sgd", {"z": "mse", "a": sparse})
    ours(X)
    program = from_keras.capture_keras(ours, "net", Options())
    said = "labels of the outputs a (8,), z (8, 4), in this order"
    assert program.graph.metadata["choices"][-1] == said
    classes, targets = np.arange(8, dtype=np.int32) % 3, np.tile(Y, (1, 4))
    labels = {"z": targets, "a": classes}
    expected = float(ours.test_on_batch(X, labels, return_dict=True)["loss"])
    given = (tf.constant(one) for one in (X, classes, targets))
    assert float(program.function(*given)) == pytest.approx(expected, rel=1e-5)


class Tokens(keras.Model):
    """Token ids, of which a subclassed model says nothing."""

    def __init__(self, policy):
        super().__init__(dtype=policy)
        self.embed, self.out = layers.Embedding(5000, 4, dtype=policy), layers.Dense(1)

    def call(self, ids):
        return self.out(tf.reduce_mean(self.embed(ids), 1))


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_a_masked_sequence_that_is_read_backwards_is_refused(mask, whole):
    """Keras computes it otherwise once it is unrolled, and nothing else of these."""
    ids = keras.Input((6,), 8, dtype="int32")
    both = layers.Bidirectional(layers.GRU(3, return_sequences=whole))
    network = keras.Model(ids, both(layers.Embedding(50, 4, mask_zero=mask)(ids)))
    data = np.where(np.arange(6) < 4, 7, 0) * np.ones((8, 1), np.int32)
    rolled = network(data)
    if mask and whole:
        with pytest.raises(InputError, match="goes backwards over a masked sequence"):
            from_keras.capture_keras(network, "net", Options())
        return
    with unrolled(network, "net"):
        np.testing.assert_allclose(network(data), rolled, atol=1e-6)
    assert from_keras.capture_keras(network, "net", Options()).graph.n_ops


class Known(layers.Layer):
    """Knows which of its inputs count, and says so by a mask."""

    def call(self, x):
        return x * 1.0

    def compute_mask(self, inputs, mask=None):
        return keras.ops.any(inputs != 0, axis=-1)


@pytest.mark.parametrize("given", ["argument", "layer"])
def test_a_mask_is_noticed_wherever_it_comes_from(given):
    x, both = keras.Input((6, 4), 8), layers.Bidirectional(layers.LSTM(3, return_sequences=True))
    y = both(Known()(x)) if given == "layer" else both(x, mask=keras.ops.any(x != 0, axis=-1))
    with pytest.raises(InputError) as error:
        from_keras.capture_keras(keras.Model(x, y), "net", Options())
    assert str(error.value).startswith("net: layer 'backward_lstm")
    assert "goes backwards over a masked sequence" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_mask_of_other_layers_is_no_matter():
    x, ids = keras.Input((6, 4), 8), keras.Input((6,), 8, dtype="int32")
    read = layers.GRU(3)(layers.Embedding(50, 4, mask_zero=True)(ids))
    both = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    network = keras.Model([x, ids], [both, read])
    assert from_keras.capture_keras(network, "net", Options()).graph.n_ops


def test_an_optimizer_that_branches_is_told_by_name():
    ids = keras.Input((6,), 8, dtype="int32")
    network = keras.Model(ids, layers.Dense(1)(layers.Flatten()(layers.Embedding(50, 4)(ids))))
    network.compile("rmsprop", "mse")
    with pytest.raises(InputError, match=r"net: optimizer RMSprop branches.*compile with Adam"):
        from_keras.capture_keras(network, "net", Options())


def test_ids_that_would_be_rounded_are_refused():
    exact, rounded = Tokens("float32"), Tokens("mixed_bfloat16")
    for network in (exact, rounded):
        network(np.zeros((8, 6), np.int32))
    assert from_keras.capture_keras(exact, "net", Options()).graph.n_ops
    with pytest.raises(InputError, match="ids of an Embedding would be rounded to bfloat16"):
        from_keras.capture_keras(rounded, "net", Options())
