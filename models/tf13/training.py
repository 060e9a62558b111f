"""How the papers' models are trained: one way for each paper, the same for all of its graphs."""

import tensorflow as tf

CLIP = 5.0
"""Global norm to which gradients are clipped, as in TensorFlow's own tutorials."""
DECAY = 0.9999
"""Decay of the moving averages of the weights, as in TensorFlow's own Inception program."""


def hdp(loss, optimizer):
    """``Optimizer.minimize`` and a Saver; returns the training operation's name.

    ``minimize`` gates each gradient operation's results (``GATE_OP``, its default), which adds an
    Identity per result and a NoOp.
    """
    step = _step(loss, optimizer.minimize(loss))
    tf.train.Saver()
    return step


def colocrl(loss, optimizer):
    """Gradients clipped by their global norm, moving averages of the weights, and a Saver.

    ``tf.gradients`` gates nothing. Returns the training operation's name.
    """
    weights = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, weights), CLIP)
    update = optimizer.apply_gradients(zip(gradients, weights))
    averages = tf.train.ExponentialMovingAverage(DECAY)
    with tf.control_dependencies([update]):
        step = _step(loss, averages.apply(weights))
    tf.train.Saver()
    return step


def _step(loss, update):
    """The operation that a step runs: loss, update, and the averages of batch normalisation."""
    averages = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return tf.group(loss, update, *averages, name="train").name
