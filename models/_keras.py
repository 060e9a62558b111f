"""One training step of a Keras image classifier."""

from __future__ import annotations

from typing import Any


def training_step(
    network: Any, optimizer: Any, batch: int, image_size: int
) -> tuple[Any, list[Any]]:
    """Return a training step and its inputs: forward, cross entropy, backward, update.

    Its inputs are float32[batch, image_size, image_size, 3] and int32[batch].
    """
    import tensorflow as tf

    variables = network.trainable_variables
    optimizer.build(variables)
    images = tf.TensorSpec([batch, image_size, image_size, 3], tf.float32)
    labels = tf.TensorSpec([batch], tf.int32)

    @tf.function(autograph=False)
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            probabilities = network(x, training=True)
            with tf.name_scope("loss"):
                picked = tf.gather(probabilities, y, batch_dims=1)
                loss = -tf.reduce_mean(tf.math.log(picked + 1e-7))
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    return step, [images, labels]
