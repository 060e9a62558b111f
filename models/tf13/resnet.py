"""ResNet-152 (He et al. 2016) from TensorFlow-Slim, with fused batch normalisation."""

import tensorflow as tf
from tensorflow.contrib.slim.python.slim.nets import resnet_v1

BATCH, CLASSES = 128, 1000


def loss(size):
    """The training loss with weight decay, for square images of ``size`` pixels."""
    slim = tf.contrib.slim
    images = tf.placeholder(tf.float32, [BATCH, size, size, 3], "images")
    labels = tf.placeholder(tf.int32, [BATCH], "labels")
    with slim.arg_scope(resnet_v1.resnet_arg_scope()):
        with slim.arg_scope([slim.batch_norm], fused=True):
            logits, _ = resnet_v1.resnet_v1_152(images, CLASSES, is_training=True)
    tf.losses.sparse_softmax_cross_entropy(labels, tf.reshape(logits, [BATCH, CLASSES]))
    return tf.losses.get_total_loss()
