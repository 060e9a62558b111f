"""The papers' graphs as TensorFlow 1.3.0 makes them, by the programs of models/tf13."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from models._recurrent import gpu_of_layer
from models.inception import BRANCHES, in_parts
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import GraphFile, Model, all_on_first, by_scope

T = TypeVar("T", bound="Exported")
FOLDER = Path(__file__).parent / "tf13" / "graphs"
GPU_KERNELS = FOLDER / "gpu_kernels.pbtxt.xz"
MIXED = ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c")
"""TensorFlow-Slim's names of Inception-V3's mixed modules."""
AUXILIARY = MIXED.index("6e")
"""The module whose output the auxiliary classifier reads."""
PER_STEP = {"Sigmoid": 3, "Tanh": 2, "add": 2, "mul": 3}
"""Operations of one kind in an LSTM cell; TensorFlow counts them through all steps."""
_NUMBER = r"(?:_(\d+))?(?:_grad)?(?=/|$)"
CELL = re.compile(rf"/cell_(\d+)/cell_\d+/basic_lstm_cell/([a-zA-Z_]+?){_NUMBER}")
"""Layer, kind of operation and its number."""
_LOSS = "sequence_loss_by_example/(?:Reshape|SparseSoftmaxCrossEntropyWithLogits|mul)"
STEPS = (
    ("embedding", re.compile(f"embedding_lookup{_NUMBER}")),
    ("attention", re.compile(f"/(?:Attention_0|AttnOutputProjection){_NUMBER}")),
    ("softmax", re.compile(f"^softmax{_NUMBER}")),
    ("softmax", re.compile(f"{_LOSS}{_NUMBER}")),
)
"""What else has a group per step, with the step's number."""


@dataclass(frozen=True)
class Exported:
    """A graph on disk."""

    name: str
    """Of the task, and of its files."""
    gpus: int
    """GPUs that the papers placed it on (ColocRL: also 4)."""
    fetch: str
    """The operation that a step runs."""
    paper_ops: int | None
    """Operations of the paper's graph."""
    choices: tuple[str, ...]
    """What the papers do not give."""
    digest: str
    """Of the files' content."""

    def build(self) -> GraphFile:
        """Return the file with the training step."""
        return GraphFile(FOLDER / f"{self.name}.pb.xz", (self.fetch,), GPU_KERNELS)

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU (HDP, section 4.1)."""
        return all_on_first(graph, gpus)


@dataclass(frozen=True)
class ResNet(Exported):
    """TensorFlow-Slim's ResNet."""

    def block(self, name: str) -> str | None:
        """A residual unit; other layers one by one."""
        unit = re.match(r"resnet_v1_152/(block\d/unit_\d+|\w+)(?=/)", name)
        return unit and unit[1]


@dataclass(frozen=True)
class Inception(Exported):
    """TensorFlow-Slim's Inception-V3."""

    contiguous_parts: bool = False
    """Whether the human expert cuts the layers into one part a GPU (ColocRL) or takes one GPU."""

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU (HDP) or, with ``contiguous_parts``, in parts (ColocRL, 4.2)."""
        if self.contiguous_parts:
            return in_parts(graph, gpus, module_of)
        return all_on_first(graph, gpus)

    def block(self, name: str) -> str | None:
        """A branch of a module or a convolution of the stem; each other layer is one."""
        scope = "InceptionV3/InceptionV3/"
        part = re.match(rf"{scope}(Mixed_\w+/Branch_\d|AuxLogits|Logits|\w+)(?=/|$)", name)
        return part and part[1]


def module_of(name: str) -> int | None:
    """The mixed module of an operation: -1 for the stem, None outside of the network.

    The head goes with the last module, the auxiliary classifier with the one that it reads.
    """
    scope = re.match(r"InceptionV3/(?:InceptionV3/)?(\w+)", name)
    if scope is None:
        return None
    mixed = re.fullmatch(r"Mixed_(\w\w)", scope[1])
    if mixed:
        return MIXED.index(mixed[1])
    if scope[1] == "AuxLogits":
        return AUXILIARY
    return len(BRANCHES) - 1 if re.match("Logits|Predictions", scope[1]) else -1


@dataclass(frozen=True)
class Recurrent(Exported):
    """RNNLM, or with ``encoder`` NMT: LSTM cells by layer and step."""

    layers: int = 2
    """LSTM layers (of the encoder; the decoder has as many)."""
    encoder: bool = False
    """Whether there is an encoder (and attention)."""
    layer_per_gpu: bool = True
    """Whether the human expert gives each layer its own GPU, or all one."""

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Each LSTM layer on its own GPU (HDP, section 4.1; ColocRL, section 4.2), or all on one.

        Attention and softmax go with the last layer, the embeddings with the first. With the
        attention go what mixes it into the decoder's input, and the target's words.
        """
        if not self.layer_per_gpu:
            return all_on_first(graph, gpus)

        def gpu_of(name: str) -> int | None:
            if re.search(r"embedding(/|$)|embedding_lookup", name):
                return 0
            cell = re.search(r"/cell_(\d+)", name)
            decoder = "attention_decoder" in name
            if cell:
                return self._gpu(int(cell[1]), decoder, gpus)
            if decoder or re.match("softmax|sequence_loss|label|target", name):
                return self._gpu(self.layers - 1, True, gpus)
            return None

        return by_scope(graph, gpu_of)

    def _gpu(self, layer: int, decoder: bool, gpus: int) -> int:
        if self.encoder:
            return gpu_of_layer(layer, decoder, self.layers, gpus)
        return layer * min(gpus, self.layers) // self.layers

    def block(self, name: str) -> str | None:
        """One group per step of each LSTM layer, embedding, attention and softmax (ColocRL, 3.3).

        A loss counts as its softmax's.
        """
        side = "decoder" if "attention_decoder" in name else "encoder"
        cell = CELL.search(name)
        if cell:
            return f"{side}, layer {cell[1]}, step {int(cell[3] or 0) // PER_STEP.get(cell[2], 1)}"
        for kind, pattern in STEPS:
            step = pattern.search(name)
            if step:
                return f"{side} {kind}, step {step[1] or 0}"
        return None


def _task(kind: Callable[..., T], name: str, gpus: int, **options: bool | int) -> T:
    """Return a model with what its description says."""
    described = json.loads((FOLDER / f"{name}.json").read_bytes())
    content = b"".join(path.read_bytes() for path in (FOLDER / f"{name}.pb.xz", GPU_KERNELS))
    return kind(
        name,
        gpus,
        described["fetch"],
        described["published_operations"],
        tuple(described["choices"]),
        hashlib.sha256(content).hexdigest()[:16],
        **options,
    )


TASKS: dict[str, Model] = {
    "inception_v3_tf13": _task(Inception, "inception_v3_tf13", 2),
    "resnet_152_tf13": _task(ResNet, "resnet_152_tf13", 2),
    "rnnlm_tf13": _task(Recurrent, "rnnlm_tf13", 2, layer_per_gpu=False),
    "nmt_2_tf13": _task(Recurrent, "nmt_2_tf13", 2, encoder=True),
    "nmt_4_tf13": _task(Recurrent, "nmt_4_tf13", 4, layers=4, encoder=True),
    "nmt_8_tf13": _task(Recurrent, "nmt_8_tf13", 8, layers=8, encoder=True),
    "colocrl_rnnlm_tf13": _task(Recurrent, "colocrl_rnnlm_tf13", 2),
    "colocrl_nmt_tf13": _task(Recurrent, "colocrl_nmt_tf13", 2, encoder=True),
    "colocrl_inception_v3_tf13": _task(
        Inception, "colocrl_inception_v3_tf13", 2, contiguous_parts=True
    ),
}
