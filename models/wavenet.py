"""WaveNet: dilated causal convolutions over raw audio (van den Oord et al. 2016), GDP, Table 1.

GDP gives nothing but stacks and layers. Sizes are those of the usual public implementation
(github.com/ibab/tensorflow-wavenet, wavenet_params.json and train.py): filters of 2, 32 residual
and dilation channels, 512 skip channels, 256 amplitudes, biases (here of the first convolution,
too), one piece of 100,000 samples. Zeros stand before these, where that code reads as many earlier
samples as the network sees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._recurrent import Adam, Parameters, minimise
from models._runs import gpu_of_run
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import by_scope

if TYPE_CHECKING:
    import tensorflow as tf

    from suite.core.model import TrainingStep

CYCLE = 10
"""Dilations double from 1 to 512 and start again (van den Oord et al., section 2.1)."""


@dataclass(frozen=True)
class WaveNet:
    """The network, unconditioned."""

    stacks: int
    """Stacks (GDP, Table 1)."""
    layers: int
    """Layers of a stack (GDP, Table 1)."""
    gpus: int
    """GPUs of GDP's Table 1."""
    batch: int = 1
    """Pieces of audio per step."""
    samples: int = 100_000
    """Samples of a piece: 6.25 seconds at 16 kHz."""
    residual: int = 32
    """Channels between layers."""
    dilation: int = 32
    """Channels of filter and gate."""
    skip: int = 512
    """Channels that every layer contributes to the output."""
    amplitudes: int = 256
    """Values of a sample."""
    paper_ops: int | None = None
    """Not given by GDP."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            f"sizes of ibab's tensorflow-wavenet, batch {self.batch} of {self.samples:,} samples",
            f"{self.layers} layers in each of {self.stacks} stacks (not in all of them together)",
            "the expert gives each stack a GPU, its ends with the first and the last",
            "Adam",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Runs of as many layers on each GPU: one stack a GPU in GDP's tasks.

        The first convolution goes with the first run, what follows the layers with the last. GDP
        does not describe its experts.
        """
        layers = self.stacks * self.layers

        def gpu_of(name: str) -> int | None:
            layer = re.match(r"stack_(\d+)/layer_(\d+)/", name)
            if layer:
                number = int(layer[1]) * self.layers + int(layer[2])
                return gpu_of_run(number, layers, gpus)
            if name.startswith("post"):
                return gpu_of_run(layers - 1, layers, gpus)
            return 0 if name.startswith("start") else None

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per layer, and the two ends."""
        part = re.match(r"stack_\d+/layer_\d+(?=/)|start(?=/)|post(?=/)", name)
        return part and part[0]

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs.

        Those are int32[batch, samples] twice: amplitudes, and the amplitudes that follow.
        """
        import tensorflow as tf

        parameters = Parameters()
        start = Convolution(parameters, "start/causal", 2, self.amplitudes, self.residual)
        layers = [
            Layer(parameters, self, stack, layer)
            for stack in range(self.stacks)
            for layer in range(self.layers)
        ]
        post = [
            Convolution(parameters, f"post/{name}", 1, self.skip, outputs)
            for name, outputs in (("hidden", self.skip), ("logits", self.amplitudes))
        ]
        adam = Adam(parameters.variables)
        audio = tf.TensorSpec([self.batch, self.samples], tf.int32)

        @tf.function(autograph=False)
        def step(heard: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            with tf.name_scope("start"):
                # One row of samples, so that each causal convolution is one operation.
                hidden = start(tf.one_hot(heard[:, None], self.amplitudes))
            total = None
            for layer in layers:
                with tf.name_scope(layer.scope):
                    hidden, total = layer(hidden, total)
            with tf.name_scope("post"):
                out = tf.nn.relu(total)
                for convolution in post:
                    out = convolution(out)
                    out = tf.nn.relu(out) if convolution is post[0] else out
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels[:, None], out)
                loss = tf.reduce_mean(losses)
            minimise(loss, parameters, adam)
            return loss

        return step, [audio, audio]


class Convolution:
    """A causal convolution over samples, float32[batch, 1, samples, channels], with a bias."""

    def __init__(
        self,
        parameters: Parameters,
        scope: str,
        size: int,
        inputs: int,
        outputs: int,
        rate: int = 1,
    ) -> None:
        """Create kernel [1, size, inputs, outputs] and bias; ``rate`` is the dilation."""
        self.kernel = parameters.create(f"{scope}/kernel", [1, size, inputs, outputs])
        self.bias = parameters.create(f"{scope}/bias", [outputs])
        # Nothing may be seen of later samples: all padding stands before the first.
        self.rate, self.before = rate, (size - 1) * rate

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        """As many samples as ``x`` has."""
        import tensorflow as tf

        kernel, bias = self.kernel.read_value(), self.bias.read_value()
        if self.rate == 1:
            padding = [[0, 0], [0, 0], [self.before, 0], [0, 0]]
            return tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, padding), bias)
        # Every rate-th sample is a sequence of its own, as in TensorFlow 1: a dilated kernel has no
        # gradient on CPUs.
        behind = -(x.shape[2] + self.before) % self.rate
        apart = tf.space_to_batch(x, [1, self.rate], [[0, 0], [self.before, behind]])
        convolved = tf.nn.conv2d(apart, kernel, 1, "VALID")
        joined = tf.batch_to_space(convolved, [1, self.rate], [[0, 0], [0, behind]])
        return tf.nn.bias_add(joined, bias)


class Layer:
    """A gated dilated convolution with its residual and its contribution to the output."""

    def __init__(self, parameters: Parameters, sizes: WaveNet, stack: int, layer: int) -> None:
        """Create the weights; nothing reads what the last layer of all hands on, so it has none."""
        self.scope = f"stack_{stack}/layer_{layer}"
        rate = 2 ** (layer % CYCLE)
        self.filter, self.gate = (
            Convolution(parameters, f"{self.scope}/{name}", 2, sizes.residual, sizes.dilation, rate)
            for name in ("filter", "gate")
        )
        self.skip = Convolution(parameters, f"{self.scope}/skip", 1, sizes.dilation, sizes.skip)
        self.dense: Convolution | None = None
        if (stack, layer) != (sizes.stacks - 1, sizes.layers - 1):
            self.dense = Convolution(
                parameters, f"{self.scope}/dense", 1, sizes.dilation, sizes.residual
            )

    def __call__(self, x: tf.Tensor, total: tf.Tensor | None) -> tuple[tf.Tensor, tf.Tensor]:
        """Return (the next layer's input, ``total`` with this layer's contribution added).

        Added up as they come, contributions need not all be kept until the last.
        """
        import tensorflow as tf

        gated = tf.tanh(self.filter(x)) * tf.sigmoid(self.gate(x))
        skip = self.skip(gated)
        total = skip if total is None else total + skip
        return (x + self.dense(gated) if self.dense else x), total


TASKS = {
    "wavenet_2x18": WaveNet(stacks=2, layers=18, gpus=2),
    "wavenet_4x36": WaveNet(stacks=4, layers=36, gpus=4),
}
