"""One training step of a Keras image classifier."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

    from suite.core.model import TrainingStep


def layer_of(network: str, name: str) -> str | None:
    """The Keras layer of an operation in the call of ``network``; None outside of it.

    A layer's operations are ``NETWORK_1/LAYER_1/...``: the training step calls it a second time.
    """
    scope = re.match(rf"{network}_\d+/([^/]+)_\d+(?:/|$)", name)
    return scope[1] if scope else None


def number_of(layer: str) -> int:
    """The number at the end of an automatic layer name: 0 for conv2d, 3 for conv2d_3."""
    number = re.search(r"_(\d+)$", layer)
    return int(number[1]) if number else 0


def training_step(
    network: keras.Model, optimizer: keras.optimizers.Optimizer, batch: int, image_size: int
) -> TrainingStep:
    """Return a training step and its inputs: forward, cross entropy, backward, update.

    Its inputs are float32[batch, image_size, image_size, 3] and int32[batch].
    """
    import tensorflow as tf

    variables = network.trainable_variables
    optimizer.build(variables)
    images = tf.TensorSpec([batch, image_size, image_size, 3], tf.float32)
    labels = tf.TensorSpec([batch], tf.int32)

    @tf.function(autograph=False)
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            probabilities = network(x, training=True)
            with tf.name_scope("loss"):
                picked = tf.gather(probabilities, y, batch_dims=1)
                loss = -tf.reduce_mean(tf.math.log(picked + 1e-7))
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    return step, [images, labels]
