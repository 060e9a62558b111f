"""Inception-V3 (Szegedy et al. 2016), as in HDP, section 4: batch 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models._keras import training_step
from suite.arrays import Ints
from suite.graph import OpGraph
from suite.model import all_on_first


@dataclass(frozen=True)
class InceptionV3:
    """The Keras application with RMSProp."""

    batch: int = 1
    """Images per step (HDP, section 4)."""
    image_size: int = 299
    """Pixels (ColocRL, section 4.1)."""
    gpus: int = 2
    """GPUs of HDP's Table 1."""
    paper_ops: int | None = 24_713
    """HDP, section 4."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return ("Keras' architecture and unfused batch normalisation", "no auxiliary classifier")

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU (HDP, section 4.1)."""
        return all_on_first(graph, gpus)

    def build(self) -> tuple[Any, list[Any]]:
        """Return one training step (a ``tf.function``) and the specifications of its inputs."""
        import keras

        shape = (self.image_size, self.image_size, 3)
        network = keras.applications.InceptionV3(weights=None, input_shape=shape)
        return training_step(network, keras.optimizers.RMSprop(), self.batch, self.image_size)


TASKS = {"inception_v3": InceptionV3()}
