"""Convolutions, batch normalisation and RMSProp by TensorFlow's fused kernels, without Keras."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from models._zeros import zeros

if TYPE_CHECKING:
    import tensorflow as tf


class Weights:
    """Variables that are made where they are first used, named after the scope there."""

    def __init__(self) -> None:
        """Start without variables."""
        self._made: dict[str, tf.Variable] = {}
        self.trainable: list[tf.Variable] = []

    def get(self, name: str, shape: Sequence[int], trainable: bool = True) -> tf.Variable:
        """The float32 variable of this name in this scope, of zeros when it is new."""
        import tensorflow as tf

        # A variable belongs to the program, not to the graph that is being traced.
        with tf.init_scope(), tf.name_scope(name) as scope:
            full = scope.removesuffix("/")
            if full not in self._made:
                self._made[full] = tf.Variable(zeros(*shape), trainable=trainable, name="value")
                if trainable:
                    self.trainable.append(self._made[full])
            return self._made[full]


def convolve(
    weights: Weights,
    x: tf.Tensor,
    name: str,
    filters: int,
    size: tuple[int, int] = (1, 1),
    stride: tuple[int, int] = (1, 1),
    padding: str = "SAME",
) -> tf.Tensor:
    """Convolve float32[batch, height, width, channels] without a bias."""
    import tensorflow as tf

    with tf.name_scope(name):
        kernel = weights.get("kernel", [*size, x.shape[-1], filters])
        return tf.nn.conv2d(x, kernel.read_value(), stride, padding)


def convolve_separably(
    weights: Weights, x: tf.Tensor, name: str, filters: int, size: int, stride: int
) -> tf.Tensor:
    """Convolve every channel by itself, then mix them (Chollet 2017)."""
    import tensorflow as tf

    with tf.name_scope(name):
        own = weights.get("depthwise", [size, size, x.shape[-1], 1])
        strides = [1, stride, stride, 1]
        x = tf.nn.depthwise_conv2d(x, own.read_value(), strides, "SAME")
        mix = weights.get("pointwise", [1, 1, x.shape[-1], filters])
        return tf.nn.conv2d(x, mix.read_value(), 1, "SAME")


def normalise(weights: Weights, x: tf.Tensor, name: str) -> tf.Tensor:
    """Batch normalisation (Ioffe and Szegedy 2015), which also moves the averages."""
    import tensorflow as tf

    with tf.name_scope(name):
        channels = [x.shape[-1]]
        gain, offset = (weights.get(n, channels) for n in ("gain", "offset"))
        averages = [weights.get(n, channels, trainable=False) for n in ("mean", "variance")]
        y, *moved = tf.raw_ops.FusedBatchNormV2(
            x=x,
            scale=gain.read_value(),
            offset=offset.read_value(),
            mean=averages[0].read_value(),
            variance=averages[1].read_value(),
            epsilon=1e-3,
            exponential_avg_factor=3e-4,
            is_training=True,
        )[:3]
        for average, value in zip(averages, moved, strict=True):
            average.assign(value, read_value=False)
        return y


class RMSProp:
    """RMSProp with momentum (Tieleman and Hinton 2012), decay and momentum 0.9."""

    def __init__(self, weights: Weights) -> None:
        """Two slots for every variable are made when it is first updated."""
        self.weights = weights

    def minimise(self, loss: tf.Tensor) -> None:
        """Differentiate ``loss`` by every trainable variable and update it."""
        import tensorflow as tf

        variables = self.weights.trainable
        for variable, gradient in zip(variables, tf.gradients(loss, variables), strict=True):
            with tf.name_scope(variable.name.rpartition("/")[0] + "/rmsprop/"):
                square, momentum = (
                    self.weights.get(slot, variable.shape, trainable=False)
                    for slot in ("square", "momentum")
                )
                tf.raw_ops.ResourceApplyRMSProp(
                    var=variable.handle,
                    ms=square.handle,
                    mom=momentum.handle,
                    lr=0.015,
                    rho=0.9,
                    momentum=0.9,
                    epsilon=1.0,
                    grad=gradient,
                )
