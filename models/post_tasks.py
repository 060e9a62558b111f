"""Post's benchmarks at its batch sizes (Gao, Chen and Li, NeurIPS 2018), in today's TensorFlow.

What is known of them: Inception-V3 and ResNet on ImageNet with 32 images a step, and an RNNLM of 4
layers. Everything else is that of HDP and ColocRL or chosen here, as ``choices`` say. They are
models of the other files at another size.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.inception import InceptionV3
from models.resnet import ResNet152
from models.rnnlm import RNNLM


@dataclass(frozen=True)
class PostInception(InceptionV3):
    """Inception-V3 with 32 images."""

    batch: int = 32
    """Images per step (Post)."""
    paper_ops: int | None = None
    """Not known of the paper."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What is not known of the paper."""
        return (*super().choices, "RMSProp, 299 x 299 pixels and 2 GPUs, as ColocRL and HDP")


@dataclass(frozen=True)
class PostResNet(ResNet152):
    """ResNet with 32 images, which a K40 holds at ImageNet's usual size."""

    batch: int = 32
    """Images per step (Post)."""
    image_size: int = 224
    """Pixels. Not known of the paper: the usual size."""
    paper_ops: int | None = None
    """Not known of the paper."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What is not known of the paper."""
        return (
            "152 layers and 2 GPUs, as HDP",
            f"images of {self.image_size} x {self.image_size}",
            "stochastic gradient descent with momentum 0.9",
            "Keras' architecture and unfused batch normalisation",
        )


@dataclass(frozen=True)
class PostRNNLM(RNNLM):
    """A language model of four layers, whose expert gives each its own GPU (HDP, section 4.1)."""

    layers: int = 4
    """LSTM layers (Post)."""
    gpus: int = 4
    """Not known of the paper: one a layer."""
    paper_ops: int | None = None
    """Not known of the paper."""
    layer_per_gpu: bool = True
    """One GPU cannot hold it."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What is not known of the paper."""
        sizes = f"batch {self.batch}, LSTM size {self.units}, {self.steps} steps, as ColocRL"
        return (*super().choices, sizes, f"{self.gpus} GPUs")


TASKS = {
    "post_inception_v3": PostInception(),
    "post_resnet": PostResNet(),
    "post_rnnlm": PostRNNLM(),
}
