"""RNNLM: a two-layer LSTM language model (Jozefowicz et al. 2016; ColocRL, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models._recurrent import LSTM, Adam, Parameters, lookup, minimise
from suite.arrays import Ints
from suite.graph import OpGraph
from suite.model import all_on_first


@dataclass(frozen=True)
class RNNLM:
    """The language model, fully unrolled."""

    batch: int = 64
    """Sequences per step (ColocRL, section 4.1)."""
    layers: int = 2
    """LSTM layers (ColocRL)."""
    units: int = 2048
    """LSTM size (ColocRL)."""
    steps: int = 40
    """Unrolled steps (ColocRL)."""
    vocabulary: int = 10_000
    """Words; not given by the papers."""
    gpus: int = 2
    """GPUs of HDP's Table 1."""
    paper_ops: int | None = 9_021
    """HDP, section 4."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return (
            f"vocabulary {self.vocabulary:,} (Penn Treebank's)",
            "one softmax product over all steps",
            "dense embedding gradients",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU.

        HDP's text (section 4.1) puts each LSTM layer on its own GPU, but its Table 1 prints the
        single-GPU time as the expert's (1.57 s; ColocRL measured 3.81 s for one layer a GPU), so
        the printed cell can only be the single-GPU placement.
        """
        return all_on_first(graph, gpus)

    def build(self) -> tuple[Any, list[Any]]:
        """Return one training step (a ``tf.function``) and the specifications of its inputs."""
        import tensorflow as tf

        parameters = Parameters()
        embedding = parameters.create("embedding/table", [self.vocabulary, self.units])
        cells = [
            LSTM(parameters, f"lstm/layer_{i}", self.units, self.units) for i in range(self.layers)
        ]
        weights = parameters.create("softmax/kernel", [self.units, self.vocabulary])
        bias = parameters.create("softmax/bias", [self.vocabulary])
        adam = Adam(parameters.variables)
        tokens = tf.TensorSpec([self.batch, self.steps], tf.int32)

        @tf.function(autograph=False)
        def step(words: Any, targets: Any) -> Any:
            outputs = lookup(embedding, "embedding", words)
            for cell in cells:
                zeros = tf.zeros([self.batch, self.units])
                outputs, _ = cell.unroll(outputs, (zeros, zeros))
            with tf.name_scope("softmax"):
                hidden = tf.concat(outputs, 0)
                logits = tf.nn.bias_add(tf.matmul(hidden, weights), bias)
                labels = tf.reshape(tf.transpose(targets), [-1])
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
                loss = tf.reduce_mean(losses)
            minimise(loss, parameters, adam)
            return loss

        return step, [tokens] * 2


TASKS = {"rnnlm": RNNLM()}
