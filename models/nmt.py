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

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return (
            f"vocabulary {self.vocabulary:,} (Luong et al. 2015; 32,000 would fit one K40)",
            "a softmax product per step",
            "additive attention on the last decoder layer, no input feeding",
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
        attention = Attention(parameters, self.units)
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
            for cell, state in zip(decoder, states, strict=True):
                outputs, _ = cell.unroll(outputs, state)
            outputs = attention.unroll(outputs, *memory)
            loss = softmax.loss(outputs, labels)
            minimise(loss, parameters, adam)
            return loss

        return step, [tokens] * 3


class Attention:
    """Additive attention over the encoder's outputs (Bahdanau et al. 2015)."""

    def __init__(self, parameters: Parameters, units: int) -> None:
        """Create the four weights, all [units, units] but the score's [units]."""
        self.units = units
        self.key, self.query = (
            parameters.create(f"attention/{name}", [units, units]) for name in ("key", "query")
        )
        self.score = parameters.create("attention/score", [units])
        self.mix = parameters.create("attention/mix", [2 * units, units])

    def keys(self, outputs: Sequence[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the encoder's outputs and their keys: float32[batch, steps, units] each."""
        import tensorflow as tf

        with tf.name_scope("attention/keys"):
            memory = tf.stack(outputs, axis=1)
            keys = tf.matmul(tf.reshape(memory, [-1, self.units]), self.key)
            return memory, tf.reshape(keys, memory.shape)

    def unroll(
        self, outputs: Sequence[tf.Tensor], memory: tf.Tensor, keys: tf.Tensor
    ) -> list[tf.Tensor]:
        """Mix each output with what it attends to: float32[batch, units] a step."""
        import tensorflow as tf

        with tf.name_scope("attention"):
            query, score, mix = (w.read_value() for w in (self.query, self.score, self.mix))
        mixed = []
        for step, output in enumerate(outputs):
            with tf.name_scope(f"attention/step_{step}"):
                asked = tf.expand_dims(tf.matmul(output, query), 1)
                scores = tf.reduce_sum(tf.tanh(keys + asked) * score, 2)
                weights = tf.expand_dims(tf.nn.softmax(scores), 2)
                context = tf.reduce_sum(weights * memory, 1)
                mixed.append(tf.tanh(tf.matmul(tf.concat([context, output], 1), mix)))
        return mixed


TASKS = {
    "nmt_2": NMT(layers=2, gpus=2, paper_ops=28_044),
    "nmt_4": NMT(layers=4, gpus=4, paper_ops=46_600),
    "nmt_8": NMT(layers=8, gpus=8, paper_ops=83_712),
    "colocrl_nmt": NMT(layers=2, gpus=2, paper_ops=22_097),
}
