"""Inception-V3 (Szegedy et al. 2016) from TensorFlow-Slim."""

import tensorflow as tf
from tensorflow.contrib.slim.python.slim.nets import inception_v3

SIZE, CLASSES = 299, 1000
AUXILIARY_WEIGHT = 0.4
"""Weight of the auxiliary classifier's loss, as in TensorFlow-Slim's training script."""


def loss(batch):
    """The training loss: both classifiers and weight decay."""
    images = tf.placeholder(tf.float32, [batch, SIZE, SIZE, 3], "images")
    labels = tf.placeholder(tf.int32, [batch], "labels")
    with tf.contrib.slim.arg_scope(inception_v3.inception_v3_arg_scope()):
        logits, ends = inception_v3.inception_v3(images, CLASSES, is_training=True)
    tf.losses.sparse_softmax_cross_entropy(labels, logits)
    tf.losses.sparse_softmax_cross_entropy(labels, ends["AuxLogits"], weights=AUXILIARY_WEIGHT)
    return tf.losses.get_total_loss()
