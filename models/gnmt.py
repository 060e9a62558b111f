"""GNMT: Google's neural machine translation system (Wu et al. 2016), as in GDP, Table 1.

Unlike the ``nmt_*`` tasks, those of HDP, its encoder starts with a bidirectional layer, layers have
residual connections from the third on, and what the first decoder layer attends to is fed to all
decoder layers. Sizes are those of the public configuration (github.com/tensorflow/nmt,
nmt/standard_hparams/wmt16_gnmt_8_layer.json; gnmt_model.py, architecture gnmt_v2): 1,024 units,
128 pairs of sentences of 50 word pieces. The softmax has a bias, which theirs has not, and all
sentences are of full length, so that nothing is masked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._recurrent import (
    LSTM,
    Adam,
    Parameters,
    Softmax,
    gpu_of_layer,
    lookup,
    minimise,
    step_block,
)
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import by_scope

if TYPE_CHECKING:
    import tensorflow as tf

    from suite.core.model import TrainingStep

    State = tuple[tf.Tensor, tf.Tensor]
    """Memory and output of an LSTM: float32[batch, units] each."""

PLAIN = 2
"""Layers without a residual: the second encoder layer's input is twice as wide as its output, and
the decoder follows the encoder."""


@dataclass(frozen=True)
class GNMT:
    """The translation model, fully unrolled."""

    layers: int
    """LSTM layers in the encoder, the first in both directions, and as many in the decoder."""
    gpus: int
    """GPUs of GDP's Table 1."""
    batch: int = 128
    """Sentence pairs per step."""
    units: int = 1024
    """LSTM size."""
    steps: int = 50
    """Source and target length."""
    vocabulary: int = 32_000
    """Word pieces per language (Wu et al., section 4.1: WPM-32K)."""
    paper_ops: int | None = None
    """Not given by GDP, which only says of 8 layers that there are over 50,000."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            f"sizes of tensorflow/nmt, batch {self.batch}, {self.steps} steps, no dropout",
            f"vocabulary {self.vocabulary:,} (Wu et al. 2016)",
            "one softmax product over all steps, as in tensorflow/nmt",
            "attention with the first decoder layer, softmax with the last",
            "Adam, dense embedding gradients",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Each LSTM layer on its own GPU, as HDP's expert has them (section 4.1).

        Layer i of the encoder and of the decoder share a GPU unless there are GPUs for all of
        them. Embeddings go with the first layers, the softmax with the last one, attention with the
        decoder layer from which it is computed. GDP does not describe its experts.
        """

        def home(layer: int, decoder: bool) -> int:
            return gpu_of_layer(layer, decoder, self.layers, gpus)

        def gpu_of(name: str) -> int | None:
            layer = re.match(r"(encoder|decoder)/layer_(\d+)/", name)
            if layer:
                return home(int(layer[2]), layer[1] == "decoder")
            if name.startswith("attention"):
                return home(0, True)
            if name.startswith("softmax"):
                return home(self.layers - 1, True)
            return home(0, "target" in name) if name.startswith("embedding") else None

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per step of each LSTM layer, embedding and attention, and the softmax."""
        if re.match("softmax/(?!kernel|bias)", name):
            return "softmax"
        return step_block(name)

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs.

        Those are int32[batch, steps] three times: source, target and the target's next pieces.
        """
        import tensorflow as tf

        parameters = Parameters()
        tables = [
            parameters.create(f"embedding/{side}/table", [self.vocabulary, self.units])
            for side in ("source", "target")
        ]
        encoder = Encoder(parameters, self.layers, self.units)
        attention = Attention(parameters, self.units)
        # Every decoder layer also reads what was attended to.
        decoder = [
            LSTM(parameters, f"decoder/layer_{i}", 2 * self.units, self.units)
            for i in range(self.layers)
        ]
        softmax = Softmax(parameters, self.units, self.vocabulary)
        adam = Adam(parameters.variables)
        tokens = tf.TensorSpec([self.batch, self.steps], tf.int32)

        @tf.function(autograph=False)
        def step(source: tf.Tensor, target: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            zeros = tf.zeros([self.batch, self.units])
            encoded, states = encoder.unroll(lookup(tables[0], "embedding/source", source), zeros)
            words = lookup(tables[1], "embedding/target", target)
            outputs, contexts = attend(decoder[0], attention, words, encoded, states[0])
            for number, (cell, state) in enumerate(zip(decoder[1:], states[1:], strict=True), 1):
                inputs = outputs
                outputs, _ = cell.unroll(beside(cell.scope, inputs, contexts), state)
                if number >= PLAIN:
                    outputs = residual(cell.scope, inputs, outputs)
            loss = softmax.joint_loss(outputs, labels)
            minimise(loss, parameters, adam)
            return loss

        return step, [tokens] * 3


class Encoder:
    """One layer in both directions, then layers in one (Wu et al., section 3.2)."""

    def __init__(self, parameters: Parameters, layers: int, units: int) -> None:
        """Create the cells; the second layer reads both directions of the first."""
        self.forward, self.backward = (
            LSTM(parameters, f"encoder/layer_0/{way}", units, units)
            for way in ("forward", "backward")
        )
        self.upper = [
            LSTM(parameters, f"encoder/layer_{i}", 2 * units if i == 1 else units, units)
            for i in range(1, layers)
        ]

    def unroll(
        self, inputs: Sequence[tf.Tensor], zeros: tf.Tensor
    ) -> tuple[list[tf.Tensor], list[State]]:
        """(outputs of the last layer, final states that the decoder starts from), a layer each.

        Of the first layer that is the backward one's (tensorflow/nmt, gnmt_model.py).
        """
        ahead, _ = self.forward.unroll(inputs, (zeros, zeros))
        back, state = self.backward.unroll(inputs[::-1], (zeros, zeros))
        outputs, states = beside("encoder/layer_0", ahead, back[::-1]), [state]
        for number, cell in enumerate(self.upper, 1):
            below = outputs
            outputs, state = cell.unroll(below, (zeros, zeros))
            if number >= PLAIN:
                outputs = residual(cell.scope, below, outputs)
            states.append(state)
        return outputs, states


class Attention:
    """Normalised additive attention over the encoder's outputs (Bahdanau et al. 2015)."""

    def __init__(self, parameters: Parameters, units: int) -> None:
        """Create the weights: two square ones, and of the score direction, length and offset."""
        self.units = units
        self.key, self.query = (
            parameters.create(f"attention/{name}", [units, units]) for name in ("key", "query")
        )
        self.direction = parameters.create("attention/direction", [units])
        self.length = parameters.create("attention/length", [])
        self.offset = parameters.create("attention/offset", [units])

    def keys(self, outputs: Sequence[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """The encoder's outputs and their keys with the offset: float32[batch, steps, units].

        The public code adds the offset anew in every step.
        """
        import tensorflow as tf

        with tf.name_scope("attention/keys"):
            memory = tf.stack(outputs, axis=1)
            keys = tf.matmul(tf.reshape(memory, [-1, self.units]), self.key.read_value())
            return memory, tf.reshape(keys + self.offset.read_value(), memory.shape)

    def weights(self) -> tuple[tf.Tensor, tf.Tensor]:
        """What every step needs, once: the query's weights, and those of the score."""
        import tensorflow as tf

        with tf.name_scope("attention"):
            direction = self.direction.read_value()
            norm = tf.math.rsqrt(tf.reduce_sum(tf.square(direction)) + 1e-12)
            return self.query.read_value(), self.length.read_value() * direction * norm

    def step(
        self,
        step: int,
        output: tf.Tensor,
        memory: tf.Tensor,
        keys: tf.Tensor,
        weights: tuple[tf.Tensor, tf.Tensor],
    ) -> tf.Tensor:
        """What float32[batch, units] of the decoder attends to: as large."""
        import tensorflow as tf

        query, score = weights
        with tf.name_scope(f"attention/step_{step}"):
            asked = tf.expand_dims(tf.matmul(output, query), 1)
            scores = tf.reduce_sum(tf.tanh(keys + asked) * score, 2)
            shares = tf.expand_dims(tf.nn.softmax(scores), 2)
            return tf.reduce_sum(shares * memory, 1)


def attend(
    cell: LSTM,
    attention: Attention,
    words: Sequence[tf.Tensor],
    encoded: Sequence[tf.Tensor],
    state: State,
) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    """Run the first decoder layer: (its outputs, what each of them attends to).

    A step reads what the one before attended to, so that the two alternate.
    """
    import tensorflow as tf

    (memory, keys), weights, cell_weights = (
        attention.keys(encoded),
        attention.weights(),
        cell.weights(),
    )
    context = tf.zeros_like(words[0])
    outputs, contexts = [], []
    for step, word in enumerate(words):
        with again(cell.scope, step):
            x = tf.concat([word, context], 1)
        state = cell.step(step, x, state, cell_weights)
        context = attention.step(step, state[1], memory, keys, weights)
        outputs.append(state[1])
        contexts.append(context)
    return outputs, contexts


def again(scope: str, step: int) -> tf.name_scope:
    """The scope of a layer's step, whose name TensorFlow would number if it were opened twice."""
    import tensorflow as tf

    return tf.name_scope(f"{scope}/step_{step}/")


def beside(scope: str, left: Sequence[tf.Tensor], right: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Join two sequences step by step: float32[batch, 2 units] each."""
    import tensorflow as tf

    joined = []
    for step, pair in enumerate(zip(left, right, strict=True)):
        with again(scope, step):
            joined.append(tf.concat(pair, 1))
    return joined


def residual(
    scope: str, inputs: Sequence[tf.Tensor], outputs: Sequence[tf.Tensor]
) -> list[tf.Tensor]:
    """Add a layer's inputs to its outputs, step by step."""

    added = []
    for step, (x, y) in enumerate(zip(inputs, outputs, strict=True)):
        with again(scope, step):
            added.append(x + y)
    return added


TASKS = {
    "gnmt_2": GNMT(layers=2, gpus=2),
    "gnmt_4": GNMT(layers=4, gpus=4),
    "gnmt_8": GNMT(layers=8, gpus=8),
}
