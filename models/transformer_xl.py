"""Transformer-XL: a Transformer with segment recurrence (Dai et al. 2019), as in GDP, Table 1.

GDP gives nothing but the number of layers. Sizes are those of the authors' base configuration for
enwik8, which like that for text8 needs no adaptive softmax (github.com/kimiyoung/transformer-xl,
tf/scripts/enwik8_base_gpu.sh; layers as in tf/model.py): 512 wide, 8 heads of 64, 2,048 in between,
segment and memory of 512 characters each, 24 sequences (there six on each of four GPUs).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
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


@dataclass(frozen=True)
class TransformerXL:
    """One training step on one segment, given the memories that the segment before left."""

    layers: int
    """Layers (GDP, Table 1)."""
    gpus: int
    """GPUs of GDP's Table 1."""
    batch: int = 24
    """Sequences per step."""
    segment: int = 512
    """Characters of a sequence in a step."""
    memory: int = 512
    """Characters before them that every layer still sees."""
    width: int = 512
    """Units of an embedding and of a layer's output."""
    heads: int = 8
    """Attention heads, ``width / heads`` wide each."""
    inner: int = 2048
    """Units in between of the position-wise layers."""
    vocabulary: int = 204
    """Characters of enwik8 (the authors' preprocessing)."""
    paper_ops: int | None = None
    """Not given by GDP."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            f"sizes of the authors' base configuration for enwik8, batch {self.batch},"
            f" {self.segment} + {self.memory} characters, no dropout",
            "memories are inputs and outputs of a step",
            "the expert gives each layer a GPU; embedding with the first, softmax with the last",
            "Adam, dense embedding gradients",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Runs of as many layers on each GPU, one layer a GPU in GDP's tasks.

        The embedding, and what positions are told by, go with the first layer, the softmax with the
        last. GDP does not describe its experts; HDP's (section 4.1) give each layer a GPU.
        """

        def gpu_of(name: str) -> int | None:
            layer = re.match(r"layer_(\d+)/", name)
            if layer:
                return gpu_of_run(int(layer[1]), self.layers, gpus)
            if name.startswith("softmax"):
                return gpu_of_run(self.layers - 1, self.layers, gpus)
            return 0 if re.match("embedding|position", name) else None

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per attention and per position-wise layer, and the ends."""
        part = re.match(r"layer_\d+/\w+(?=/)|embedding(?=/)|position(?=/)|softmax(?=/)", name)
        return part and part[0]

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs.

        Those are int32[batch, segment] twice, and per layer float32[batch, memory, width]. The
        step returns the loss and each layer's next memory.
        """
        import tensorflow as tf

        parameters = Parameters()
        table = parameters.create("embedding/table", [self.vocabulary, self.width])
        bias = parameters.create("softmax/bias", [self.vocabulary])
        each = [self.heads, self.width // self.heads]
        biases = [parameters.create(f"position/{name}", each) for name in ("content", "position")]
        layers = [Layer(parameters, f"layer_{i}", self) for i in range(self.layers)]
        adam = Adam(parameters.variables)
        tokens = tf.TensorSpec([self.batch, self.segment], tf.int32)
        remembered = tf.TensorSpec([self.batch, self.memory, self.width], tf.float32)

        @tf.function(autograph=False)
        def step(words: tf.Tensor, labels: tf.Tensor, *memories: tf.Tensor) -> list[tf.Tensor]:
            with tf.name_scope("embedding"):
                embeddings = table.read_value()
                hidden = tf.gather(embeddings, words) * math.sqrt(self.width)
            with tf.name_scope("position"):
                distances = sinusoids(self.segment + self.memory, self.width)
                mask = tf.linalg.band_part(
                    tf.ones([self.segment, self.segment + self.memory]), -1, self.memory
                )
                shared = [one.read_value() for one in biases]
            kept = []
            for layer, memory in zip(layers, memories, strict=True):
                with tf.name_scope(layer.scope):
                    seen = tf.concat([memory, hidden], 1)
                    kept.append(tf.stop_gradient(seen[:, -self.memory :]))
                    hidden = layer(hidden, seen, distances, mask, shared)
            with tf.name_scope("softmax"):
                flat = tf.reshape(hidden, [-1, self.width])
                logits = tf.matmul(flat, embeddings, transpose_b=True) + bias.read_value()
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                    tf.reshape(labels, [-1]), logits
                )
                loss = tf.reduce_mean(losses)
            minimise(loss, parameters, adam)
            return [loss, *kept]

        return step, [tokens, tokens, *[remembered] * self.layers]


class Layer:
    """Relative attention over memory and segment, then two position-wise layers."""

    def __init__(self, parameters: Parameters, scope: str, sizes: TransformerXL) -> None:
        """Create the weights; those of queries, keys and values are one matrix."""
        self.scope, self.heads = scope, sizes.heads
        width, inner = sizes.width, sizes.inner
        shapes = {
            "attention/qkv": [width, 3 * width],
            "attention/distance": [width, width],
            "attention/output": [width, width],
            "attention/gain": [width],
            "attention/shift": [width],
            "inner/kernel_1": [width, inner],
            "inner/bias_1": [inner],
            "inner/kernel_2": [inner, width],
            "inner/bias_2": [width],
            "inner/gain": [width],
            "inner/shift": [width],
        }
        self.weights = {n: parameters.create(f"{scope}/{n}", s) for n, s in shapes.items()}

    def __call__(
        self,
        hidden: tf.Tensor,
        seen: tf.Tensor,
        distances: tf.Tensor,
        mask: tf.Tensor,
        biases: list[tf.Tensor],
    ) -> tf.Tensor:
        """Map float32[batch, segment, width] to the next layer's; ``seen`` has the memory too."""
        import tensorflow as tf

        with tf.name_scope("attention"):
            own = self._read("attention")
            attended = self._attend(hidden.shape[1], seen, distances, mask, biases, own)
            mixed = dense(attended, own["output"])
            hidden = normalise(hidden + mixed, own["gain"], own["shift"])
        with tf.name_scope("inner"):
            own = self._read("inner")
            between = tf.nn.relu(dense(hidden, own["kernel_1"]) + own["bias_1"])
            between = dense(between, own["kernel_2"]) + own["bias_2"]
            return normalise(hidden + between, own["gain"], own["shift"])

    def _read(self, part: str) -> dict[str, tf.Tensor]:
        """Read the weights of a part once."""
        own = {n: w for n, w in self.weights.items() if n.startswith(f"{part}/")}
        return {n.removeprefix(f"{part}/"): w.read_value() for n, w in own.items()}

    def _attend(
        self,
        segment: int,
        seen: tf.Tensor,
        distances: tf.Tensor,
        mask: tf.Tensor,
        biases: list[tf.Tensor],
        own: Mapping[str, tf.Tensor],
    ) -> tf.Tensor:
        """What each position of the segment sees: float32[batch, segment, width] (section 3.3)."""
        import tensorflow as tf

        batch, reach, width = seen.shape
        each = width // self.heads
        queries, keys, values = (
            tf.reshape(part, [batch, reach, self.heads, each])
            for part in tf.split(dense(seen, own["qkv"]), 3, -1)
        )
        queries = queries[:, -segment:]
        far = tf.reshape(tf.matmul(distances, own["distance"]), [reach, self.heads, each])
        content = tf.einsum("bqhd,bkhd->bhqk", queries + biases[0], keys)
        position = shift(tf.einsum("bqhd,khd->bhqk", queries + biases[1], far))
        scores = (content + position) * (1 / math.sqrt(each))
        scores = scores * mask - 1e30 * (1 - mask)
        found = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), values)
        return tf.reshape(found, [batch, segment, width])


def dense(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """Map the last axis of float32[batch, n, inputs] by one product: float32[batch, n, outputs].

    A batched product would keep a gradient of the kernel for every sequence.
    """
    import tensorflow as tf

    batch, length, inputs = x.shape
    product = tf.matmul(tf.reshape(x, [batch * length, inputs]), kernel)
    return tf.reshape(product, [batch, length, kernel.shape[1]])


def sinusoids(reach: int, width: int) -> tf.Tensor:
    """What tells a distance of ``reach - 1`` to 0 positions: float32[reach, width]."""
    import tensorflow as tf

    distance = tf.range(reach - 1, -1, -1, dtype=tf.float32)[:, None]
    angles = distance / tf.pow(10_000.0, tf.range(0, width, 2, dtype=tf.float32) / width)
    return tf.concat([tf.sin(angles), tf.cos(angles)], -1)


def shift(scores: tf.Tensor) -> tf.Tensor:
    """Move row i of float32[batch, heads, n, reach] by n - 1 - i to the left.

    A column then stands for one position instead of one distance. What comes in from the right is
    masked afterwards (the paper's appendix B).
    """
    import tensorflow as tf

    batch, heads, rows, reach = scores.shape
    padded = tf.pad(scores, [[0, 0], [0, 0], [0, 0], [1, 0]])
    turned = tf.reshape(padded, [batch, heads, reach + 1, rows])[:, :, 1:]
    return tf.reshape(turned, [batch, heads, rows, reach])


def normalise(x: tf.Tensor, gain: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    """Layer normalisation over the last axis (Ba et al. 2016)."""
    import tensorflow as tf

    centred = x - tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
    return centred * tf.math.rsqrt(variance + 1e-12) * gain + offset


TASKS = {
    "transformer_xl_2": TransformerXL(layers=2, gpus=2),
    "transformer_xl_4": TransformerXL(layers=4, gpus=4),
    "transformer_xl_8": TransformerXL(layers=8, gpus=8),
}
