"""RNNLM: a two-layer LSTM language model (Jozefowicz et al. 2016; ColocRL, section 4.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._recurrent import LSTM, Adam, Parameters, Softmax, lookup, minimise, step_block
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import all_on_first, by_scope

if TYPE_CHECKING:
    import tensorflow as tf

    from suite.core.model import TrainingStep


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
    """GPUs that the papers placed it on (ColocRL: also 4)."""
    paper_ops: int | None = 9_021
    """HDP, section 4; ColocRL, Table 1."""
    softmax_per_step: bool = False
    """One softmax product per step, as ColocRL's co-location rule presupposes, or one in all."""
    layer_per_gpu: bool = False
    """Whether the human expert gives each layer its own GPU (ColocRL) or all one (HDP)."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return (
            f"vocabulary {self.vocabulary:,} (Penn Treebank's)",
            "a softmax product per step"
            if self.softmax_per_step
            else "one softmax product over all steps",
            "dense embedding gradients",
            *(["embedding with the first layer, softmax with the last"] * self.layer_per_gpu),
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU or, with ``layer_per_gpu``, each LSTM layer on its own.

        HDP's text (section 4.1) puts each LSTM layer on its own GPU, but its Table 1 prints the
        single-GPU time as the expert's (1.57 s; ColocRL measured 3.81 s for one layer a GPU), so
        the printed cell can only be the single-GPU placement. ColocRL (section 4.2) does not say
        where embedding and softmax go: with the first and the last layer, as in its NMT.
        """
        if not self.layer_per_gpu:
            return all_on_first(graph, gpus)
        used = min(gpus, self.layers)

        def gpu_of(name: str) -> int | None:
            layer = re.match(r"lstm/layer_(\d+)/", name)
            if layer:
                return int(layer[1]) * used // self.layers
            if name.startswith("softmax"):
                return used - 1
            return 0 if name.startswith("embedding") else None

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per step of each LSTM layer and of the embedding, and the softmax or its steps.

        A softmax over all steps is one step.
        """
        if self.softmax_per_step or not re.match("softmax/(?!kernel|bias)", name):
            return step_block(name)
        return "softmax"

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs."""
        import tensorflow as tf

        parameters = Parameters()
        embedding = parameters.create("embedding/table", [self.vocabulary, self.units])
        cells = [
            LSTM(parameters, f"lstm/layer_{i}", self.units, self.units) for i in range(self.layers)
        ]
        softmax = Softmax(parameters, self.units, self.vocabulary)
        loss_of = softmax.loss if self.softmax_per_step else softmax.joint_loss
        adam = Adam(parameters.variables)
        tokens = tf.TensorSpec([self.batch, self.steps], tf.int32)

        @tf.function(autograph=False)
        def step(words: tf.Tensor, targets: tf.Tensor) -> tf.Tensor:
            outputs = lookup(embedding, "embedding", words)
            for cell in cells:
                zeros = tf.zeros([self.batch, self.units])
                outputs, _ = cell.unroll(outputs, (zeros, zeros))
            loss = loss_of(outputs, targets)
            minimise(loss, parameters, adam)
            return loss

        return step, [tokens] * 2


TASKS = {
    "rnnlm": RNNLM(),
    "colocrl_rnnlm": RNNLM(paper_ops=8_943, softmax_per_step=True, layer_per_gpu=True),
}
