"""HSDAG's networks (Duan et al., NeurIPS 2024) for inference of one image or text, by OpenVINO.

The paper's Table 1 counts what OpenVINO's IR of a network has: constants, too, and the operation
behind each constant stored as float16 that converts it back. The networks are written with
OpenVINO's own operations (models/openvino); their weights are made up and not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import all_on_first

if TYPE_CHECKING:
    import openvino

SIZE = "{0} x {0} pixels (the authors' programs have 224 and 299; 299 fits the CPU's times)"
"""In words, why an image has its size."""


@dataclass(frozen=True)
class Inference:
    """What the three have in common."""

    paper_ops: int
    """Operations of the paper's graph (Table 1)."""
    gpus: int = 1
    """The paper's machine has a CPU and one GPU that counts."""

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on the GPU, as GPU-only: the paper has no human expert."""
        return all_on_first(graph, gpus)

    def block(self, name: str) -> str | None:
        """No hand-made groups."""
        return None


@dataclass(frozen=True)
class ResNet50(Inference):
    """ResNet-50 as torchvision has it."""

    image_size: int = 299
    """Pixels. Not given by the paper; its CPU-only seconds of the two image networks fit 299 best
    (224 and 299 stand in the authors' programs)."""
    paper_ops: int = 396

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (SIZE.format(self.image_size), "random weights")

    def build(self) -> openvino.Model:
        """Return the network."""
        from models.openvino.resnet50 import resnet50

        return resnet50(self.image_size)


@dataclass(frozen=True)
class InceptionV3(Inference):
    """Inception-V3 as torchvision has it, with its transformation of the input."""

    image_size: int = 299
    """Pixels. Not given by the paper: the network's own."""
    paper_ops: int = 728

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (SIZE.format(self.image_size), "random weights")

    def build(self) -> openvino.Model:
        """Return the network."""
        from models.openvino.inception_v3 import inception_v3

        return inception_v3(self.image_size)


@dataclass(frozen=True)
class Bert(Inference):
    """BERT base, uncased, as Hugging Face has it."""

    tokens: int = 8
    """Of the authors' text, "Hello, my dog is cute", with the two around it."""
    paper_ops: int = 1009

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            "fixed shapes",
            "attention operation by operation, the keys transposed before",
            "random weights",
        )

    def build(self) -> openvino.Model:
        """Return the network."""
        from models.openvino.bert import bert

        return bert(self.tokens)


TASKS = {
    "hsdag_inception_v3": InceptionV3(),
    "hsdag_resnet50": ResNet50(),
    "hsdag_bert": Bert(),
}
