"""Inception-V3 (Szegedy et al. 2016): batch 1 as in HDP, section 4, and 32 as in ColocRL, 4.1."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._keras import layer_of, number_of, training_step
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import all_on_first, by_scope

if TYPE_CHECKING:
    from suite.core.model import TrainingStep

STEM = 5
"""Convolutions before the first mixed module."""
BRANCHES = (
    *[(1, 2, 3, 1)] * 3,
    (1, 3),
    *[(1, 3, 5, 1)] * 4,
    (2, 4),
    *[(1, 3, 4, 1)] * 2,
)
"""Convolutions in each branch of each mixed module, in Keras' order of creation; where two are
given, a third branch only pools."""
BRANCH_OF = tuple(
    (module, branch)
    for module, branches in enumerate(BRANCHES)
    for branch, size in enumerate(branches)
    for _ in range(size)
)
"""(module, branch) of each convolution after the stem."""
AVERAGED = tuple(module for module, branches in enumerate(BRANCHES) if len(branches) == 4)
"""The module of each average pooling, whose branch is the fourth."""
MAXIMISED = tuple(module for module, branches in enumerate(BRANCHES) if len(branches) == 2)
"""The module of each maximum pooling after the stem's two, whose branch is the third."""


@dataclass(frozen=True)
class InceptionV3:
    """The Keras application with Keras' RMSProp.

    That has no momentum and updates a variable operation by operation: docs/models.md says what
    that costs.
    """

    batch: int = 1
    """Images per step (HDP, section 4; ColocRL, section 4.1)."""
    image_size: int = 299
    """Pixels (ColocRL, section 4.1)."""
    gpus: int = 2
    """GPUs that the papers placed it on (ColocRL: also 4)."""
    paper_ops: int | None = 24_713
    """HDP, section 4; ColocRL, Table 1."""
    contiguous_parts: bool = False
    """Whether the human expert cuts the layers into one part a GPU (ColocRL) or takes one GPU."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the papers do not give."""
        return ("Keras' architecture and unfused batch normalisation", "no auxiliary classifier")

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Everything on one GPU (HDP, section 4.1) or, with ``contiguous_parts``, in parts.

        ColocRL (section 4.2): contiguous parts of about the same number of layers. Modules stay
        whole: each goes where the middle one of its convolutions does. Weights and their updates,
        which Keras names after no module, are all on the last GPU.
        """
        if self.contiguous_parts:
            return in_parts(graph, gpus, module_of)
        return all_on_first(graph, gpus)

    def block(self, name: str) -> str | None:
        """One group per branch and per convolution of the stem; each other layer is one."""
        layer = layer_of("inception_v3", name)
        branch = branch_of(layer) if layer else None
        return "module {}, branch {}".format(*branch) if branch else layer

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs.

        Keras' count of layer names starts anew, since :meth:`block` goes by their numbers.
        """
        import keras

        keras.backend.clear_session()
        shape = (self.image_size, self.image_size, 3)
        network = keras.applications.InceptionV3(weights=None, input_shape=shape)
        return training_step(network, keras.optimizers.RMSprop(), self.batch, self.image_size)


def in_parts(graph: OpGraph, gpus: int, module_of: Callable[[str], int | None]) -> Ints:
    """Place each module, which ``module_of`` tells by an operation's name, on its part's GPU."""

    def gpu_of(name: str) -> int | None:
        module = module_of(name)
        return None if module is None else gpu_of_module(module, gpus)

    return by_scope(graph, gpu_of)


def gpu_of_module(module: int, gpus: int) -> int:
    """The GPU of a mixed module (-1: the stem), where each has about as many convolutions."""
    convolutions = STEM + len(BRANCH_OF)
    before = STEM + sum(sum(branches) for branches in BRANCHES[: max(module, 0)])
    twice = STEM if module < 0 else 2 * before + sum(BRANCHES[module])
    return twice * gpus // (2 * convolutions)


def branch_of(layer: str) -> tuple[int, int] | None:
    """(module, branch) of a Keras layer; None for pooling before the modules, joins, the head.

    A convolution of the stem, with what follows it, counts as a branch of module -1.
    """
    kind, number = re.sub(r"_\d+$", "", layer), number_of(layer)
    if kind in ("conv2d", "batch_normalization", "activation"):
        return BRANCH_OF[number - STEM] if number >= STEM else (-1, number)
    if kind == "average_pooling2d":
        return AVERAGED[number], 3
    if kind == "max_pooling2d" and number >= 2:
        return MAXIMISED[number - 2], 2
    if re.fullmatch(r"mixed9_\d", layer):
        return 9 + number, 1
    return (9 + number, 2) if kind == "concatenate" else None


def module_of(name: str) -> int | None:
    """The mixed module of an operation: -1 for the stem, the last for the head, None outside."""
    layer = layer_of("inception_v3", name)
    if layer is None:
        return None
    branch, joined = branch_of(layer), re.fullmatch(r"mixed(\d+)", layer)
    if branch:
        return branch[0]
    if joined:
        return int(joined[1])
    return len(BRANCHES) - 1 if re.match("avg_pool|predictions", layer) else -1


TASKS = {
    "inception_v3": InceptionV3(),
    "colocrl_inception_v3": InceptionV3(batch=32, paper_ops=31_180, contiguous_parts=True),
}
