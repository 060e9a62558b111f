"""ResNet (He et al. 2016), 152 layers, as in HDP, section 4: batch 128."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._keras import layer_of, training_step
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import all_on_first

if TYPE_CHECKING:
    from suite.core.model import TrainingStep


@dataclass(frozen=True)
class ResNet152:
    """The Keras application with Keras' momentum, operation by operation."""

    batch: int = 128
    """Images per step (HDP, section 4)."""
    image_size: int = 112
    """Pixels. Not given by HDP; at the usual 224 a step is 8.7 TFLOP, which no K40 (4.29 TFLOP/s)
    can do in the published 1.18 s, nor hold in 12 GB."""
    gpus: int = 2
    """GPUs of HDP's Table 1."""
    paper_ops: int | None = 20_586
    """HDP, section 4."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return (
            f"images of {self.image_size} x {self.image_size} (224 would not fit a K40)",
            "stochastic gradient descent with momentum 0.9",
            "Keras' architecture and unfused batch normalisation",
        )

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU (HDP, section 4.1)."""
        return all_on_first(graph, gpus)

    def block(self, name: str) -> str | None:
        """A residual block, as ColocRL groups a branch of Inception; other layers one by one."""
        layer = layer_of("resnet152", name)
        residual = layer and re.match(r"conv\d_block\d+", layer)
        return residual[0] if residual else layer

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs."""
        import keras

        shape = (self.image_size, self.image_size, 3)
        network = keras.applications.ResNet152(weights=None, input_shape=shape)
        optimizer = keras.optimizers.SGD(learning_rate=0.1, momentum=0.9)
        return training_step(network, optimizer, self.batch, self.image_size)


TASKS = {"resnet_152": ResNet152()}
