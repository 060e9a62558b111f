"""NMT: LSTM encoder and decoder with attention (Wu et al. 2016; ColocRL, section 4.1)."""

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


@dataclass(frozen=True)
class NMT:
    """The translation model, fully unrolled."""

    layers: int
    """LSTM layers in the encoder, and as many in the decoder."""
    gpus: int
    """GPUs that the paper placed it on (ColocRL: also 4)."""
    paper_ops: int | None
    """HDP, section 4; ColocRL, Table 1."""
    batch: int = 64
    """Sentence pairs per step (ColocRL)."""
    units: int = 1024
    """LSTM size (ColocRL, for two layers; HDP does not give it for four and eight)."""
    steps: int = 40
    """Source and target length (ColocRL)."""
    vocabulary: int = 50_000
    """Words per language. Not given by the papers; at the 32,000 word pieces of ColocRL's
    end-to-end run the two-layer model needs 8.7 GB here and would not run out of the memory of one
    K40 or K80 GPU, as published."""
    input_feeding: bool = False
    """Whether each decoder step also reads what the last one attended to (Luong et al. 2015), as
    TensorFlow 1's attention decoder does. The papers do not say. With it, decoder layers cannot
    overlap: a step's first layer waits for the last layer of the step before."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return (
            f"vocabulary {self.vocabulary:,} (Luong et al. 2015; 32,000 would fit one K40)",
            "a softmax product per step",
            "additive attention on the last decoder layer,"
            f" {'fed to its first' if self.input_feeding else 'no input feeding'}",
            "LSTM size of 4 and 8 layers as of 2 (1024)",
            "dense embedding gradients",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Each LSTM layer on its own GPU (HDP, section 4.1; ColocRL, section 4.2).

        Layer i of the encoder and of the decoder share a GPU unless there are GPUs for all of
        them; attention and softmax go with the last layer, the embeddings with the first. With
        fewer GPUs than layers, neighbours share.
        """
        last = gpu_of_layer(self.layers - 1, True, self.layers, gpus)

        def gpu_of(name: str) -> int | None:
            layer = re.match(r"(encoder|decoder)/layer_(\d+)/", name)
            if layer:
                return gpu_of_layer(int(layer[2]), layer[1] == "decoder", self.layers, gpus)
            if re.match("attention|softmax", name):
                return last
            return 0 if name.startswith("embedding") else None

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per step of each LSTM layer, embedding, attention and softmax."""
        return step_block(name)

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs."""
        import tensorflow as tf

        parameters = Parameters()
        tables = [
            parameters.create(f"embedding/{side}/table", [self.vocabulary, self.units])
            for side in ("source", "target")
        ]
        encoder, decoder = (
            [
                LSTM(parameters, f"{side}/layer_{i}", self.units, self.units)
                for i in range(self.layers)
            ]
            for side in ("encoder", "decoder")
        )
        attention = Attention(parameters, self.units, self.input_feeding)
        softmax = Softmax(parameters, self.units, self.vocabulary)
        adam = Adam(parameters.variables)
        tokens = tf.TensorSpec([self.batch, self.steps], tf.int32)

        @tf.function(autograph=False)
        def step(source: tf.Tensor, target: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            zeros = tf.zeros([self.batch, self.units])
            outputs, states = lookup(tables[0], "embedding/source", source), []
            for cell in encoder:
                outputs, state = cell.unroll(outputs, (zeros, zeros))
                states.append(state)
            memory = attention.keys(outputs)
            outputs = lookup(tables[1], "embedding/target", target)
            if self.input_feeding:
                outputs = unroll_fed(decoder, outputs, states, attention, *memory)
            else:
                for cell, state in zip(decoder, states, strict=True):
                    outputs, _ = cell.unroll(outputs, state)
                outputs = attention.unroll(outputs, *memory)
            loss = softmax.loss(outputs, labels)
            minimise(loss, parameters, adam)
            return loss

        return step, [tokens] * 3


class Attention:
    """Additive attention over the encoder's outputs (Bahdanau et al. 2015)."""

    def __init__(self, parameters: Parameters, units: int, fed: bool) -> None:
        """Create the weights: the score's [units], those that mix [2 units, units], else square.

        With ``fed`` there are those that mix the decoder's input with the last step's attention.
        """
        self.units = units
        self.key, self.query = (
            parameters.create(f"attention/{name}", [units, units]) for name in ("key", "query")
        )
        self.score = parameters.create("attention/score", [units])
        self.mix = parameters.create("attention/mix", [2 * units, units])
        if fed:
            self.feed = parameters.create("attention/feed", [2 * units, units])

    def keys(self, outputs: Sequence[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the encoder's outputs and their keys: float32[batch, steps, units] each."""
        import tensorflow as tf

        with tf.name_scope("attention/keys"):
            memory = tf.stack(outputs, axis=1)
            keys = tf.matmul(tf.reshape(memory, [-1, self.units]), self.key)
            return memory, tf.reshape(keys, memory.shape)

    def weights(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Read what every step needs, once."""
        import tensorflow as tf

        with tf.name_scope("attention"):
            return self.query.read_value(), self.score.read_value(), self.mix.read_value()

    def step(
        self,
        step: int,
        output: tf.Tensor,
        memory: tf.Tensor,
        keys: tf.Tensor,
        weights: tuple[tf.Tensor, tf.Tensor, tf.Tensor],
    ) -> tf.Tensor:
        """Mix float32[batch, units] of the decoder with what it attends to: as large."""
        import tensorflow as tf

        query, score, mix = weights
        with tf.name_scope(f"attention/step_{step}"):
            asked = tf.expand_dims(tf.matmul(output, query), 1)
            scores = tf.reduce_sum(tf.tanh(keys + asked) * score, 2)
            shares = tf.expand_dims(tf.nn.softmax(scores), 2)
            context = tf.reduce_sum(shares * memory, 1)
            return tf.tanh(tf.matmul(tf.concat([context, output], 1), mix))

    def unroll(
        self, outputs: Sequence[tf.Tensor], memory: tf.Tensor, keys: tf.Tensor
    ) -> list[tf.Tensor]:
        """Mix each output with what it attends to: float32[batch, units] a step."""
        weights = self.weights()
        return [self.step(i, output, memory, keys, weights) for i, output in enumerate(outputs)]


def unroll_fed(
    cells: Sequence[LSTM],
    inputs: Sequence[tf.Tensor],
    states: Sequence[tuple[tf.Tensor, tf.Tensor]],
    attention: Attention,
    memory: tf.Tensor,
    keys: tf.Tensor,
) -> list[tf.Tensor]:
    """Decode step by step, each fed what the last one attended to: float32[batch, units] a step."""
    import tensorflow as tf

    weights, states = [cell.weights() for cell in cells], list(states)
    attention_weights = attention.weights()
    with tf.name_scope("attention"):
        feed = attention.feed.read_value()
        attended = tf.zeros_like(inputs[0])
    mixed = []
    for step, word in enumerate(inputs):
        with tf.name_scope(f"attention/feed/step_{step}"):
            x = tf.matmul(tf.concat([word, attended], 1), feed)
        for layer, cell in enumerate(cells):
            states[layer] = cell.step(step, x, states[layer], weights[layer])
            x = states[layer][1]
        attended = attention.step(step, x, memory, keys, attention_weights)
        mixed.append(attended)
    return mixed


TASKS = {
    "nmt_2": NMT(layers=2, gpus=2, paper_ops=28_044),
    "nmt_4": NMT(layers=4, gpus=4, paper_ops=46_600),
    "nmt_8": NMT(layers=8, gpus=8, paper_ops=83_712),
    "nmt_2_fed": NMT(layers=2, gpus=2, paper_ops=28_044, input_feeding=True),
    "nmt_4_fed": NMT(layers=4, gpus=4, paper_ops=46_600, input_feeding=True),
    "nmt_8_fed": NMT(layers=8, gpus=8, paper_ops=83_712, input_feeding=True),
    "colocrl_nmt": NMT(layers=2, gpus=2, paper_ops=22_097),
}
