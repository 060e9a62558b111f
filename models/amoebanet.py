"""AmoebaNet: image classifiers that evolution found (Real et al. 2019), as in GDP, Table 1.

GDP gives no more than the name. Sizes are those of the authors' public configuration
(github.com/tensorflow/tpu, models/official/amoeba_net: amoeba_net_model.py's ImageNet parameters,
cells of model_specs.py, wiring of network_utils.py and model_builder.py): 18 normal cells, 256
filters, 32 images of 299 x 299, cells of AmoebaNet-D. Beside what the task's ``choices`` name, that
configuration has dropout before the classifier and smooths the labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models._convolutional import RMSProp, Weights, convolve, convolve_separably, normalise
from models._runs import gpu_of_run
from suite.core.arrays import Ints
from suite.core.graph import OpGraph
from suite.core.model import by_scope

if TYPE_CHECKING:
    import tensorflow as tf

    from suite.core.model import TrainingStep

STEMS, REDUCTIONS = 2, 2
"""Reduction cells before the normal cells, and among them."""
CLASSES = 1001


@dataclass(frozen=True)
class Cell:
    """Five pairs of operations, each pair summed; state 0 is the input, 1 that of the cell before.

    The output is some of the states, side by side.
    """

    pairs: tuple[tuple[str, int, str, int], ...]
    """(operation, the state it reads, other operation, its state), for states 2 to 6."""
    output: tuple[int, ...]
    """As the authors list them, who also return states that are read within the cell."""


CELLS = {
    "D": (
        Cell(
            (
                ("1x1", 1, "max 3", 1),
                ("none", 1, "1x7_7x1", 0),
                ("1x1", 0, "1x7_7x1", 0),
                ("max 3", 2, "none", 2),
                ("avg 3", 1, "1x1", 5),
            ),
            (0, 3, 4, 6),
        ),
        Cell(
            (
                ("max 2", 0, "max 3", 0),
                ("none", 2, "3x3", 1),
                ("1x7_7x1", 2, "max 3", 2),
                ("none", 3, "max 2", 1),
                ("avg 3", 2, "1x1", 3),
            ),
            (4, 5, 6),
        ),
    ),
    "A": (
        Cell(
            (
                ("avg 3", 0, "max 3", 0),
                ("separable 3", 1, "none", 1),
                ("none", 0, "avg 3", 1),
                ("separable 3", 0, "separable 5", 2),
                ("avg 3", 5, "separable 3", 0),
            ),
            (1, 3, 4, 6),
        ),
        Cell(
            (
                ("separable 3", 1, "avg 3", 0),
                ("max 3", 0, "separable 7", 2),
                ("max 3", 1, "max 3", 0),
                ("separable 3", 4, "1x7_7x1", 0),
                ("avg 3", 1, "separable 7", 0),
            ),
            (2, 3, 4, 5, 6),
        ),
    ),
}
"""The normal and the reduction cell of each network."""


@dataclass(frozen=True)
class AmoebaNet:
    """The network with RMSProp."""

    kind: str = "D"
    """Which of the published cells: "D" or "A"."""
    gpus: int = 4
    """GPUs of GDP's Table 1."""
    cells: int = 18
    """Normal cells."""
    filters: int = 256
    """Filters of the first normal cells."""
    image_size: int = 299
    """Pixels."""
    batch: int = 32
    """Images per step."""
    paper_ops: int | None = None
    """Not given by GDP."""

    @property
    def choices(self) -> tuple[str, ...]:
        """What the paper does not give."""
        return (
            f"AmoebaNet-{self.kind}, {self.cells} cells, {self.filters} filters, images of"
            f" {self.image_size} x {self.image_size}, batch {self.batch}, as tensorflow/tpu",
            "no auxiliary classifier, weight decay, averaged weights or dropped paths",
            "the expert cuts the cells into one run a GPU",
        )

    @property
    def plan(self) -> tuple[tuple[str, int], ...]:
        """(scope, filters) of every cell in order; reductions stand at the thirds."""
        return tuple(self._plan())

    def _plan(self) -> Iterator[tuple[str, int]]:
        for stem in range(STEMS):
            yield f"stem_{stem}", self.filters >> (STEMS - stem)
        cuts = [self.cells * i // (REDUCTIONS + 1) for i in range(1, REDUCTIONS + 1)]
        for cell in range(self.cells):
            scale = sum(cell >= cut for cut in cuts)
            if cell in cuts:
                yield f"reduction_{cuts.index(cell)}", self.filters << scale
            yield f"cell_{cell}", self.filters << scale

    def expert(self, graph: OpGraph, gpus: int) -> Ints:
        """Runs of as many cells on each GPU, as ColocRL's expert cuts Inception-V3 (section 4.2).

        What comes before the cells goes with the first, the classifier with the last. GDP does not
        describe its experts.
        """
        scopes = [scope for scope, _ in self.plan]
        number = {scope: i for i, scope in enumerate(scopes)}
        number |= {"start": 0, "head": len(scopes) - 1}

        def gpu_of(name: str) -> int | None:
            cell = number.get(name.partition("/")[0])
            return None if cell is None else gpu_of_run(cell, len(scopes), gpus)

        return by_scope(graph, gpu_of)

    def block(self, name: str) -> str | None:
        """One group per side of each pair, as ColocRL groups a branch of Inception."""
        part = re.match(r"(start|head|(stem|reduction|cell)_\d+/\w+)(?=/)", name)
        return part and part[0]

    def build(self) -> TrainingStep:
        """Return one training step (a ``tf.function``) and the specifications of its inputs.

        Those are float32[batch, image_size, image_size, 3] and int32[batch].
        """
        import tensorflow as tf

        weights = Weights()
        optimizer = RMSProp(weights)
        images = tf.TensorSpec([self.batch, self.image_size, self.image_size, 3], tf.float32)
        labels = tf.TensorSpec([self.batch], tf.int32)

        @tf.function(autograph=False)
        def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
            loss = self.loss(weights, x, y)
            optimizer.minimise(loss)
            return loss

        return step, [images, labels]

    def loss(self, weights: Weights, x: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        """Mean cross entropy of float32[batch, size, size, 3] with int32[batch]: float32[]."""
        import tensorflow as tf

        normal, reduction = CELLS[self.kind]
        with tf.name_scope("start"):
            x = convolve(weights, x, "convolution", 32, (3, 3), (2, 2), "VALID")
            x = normalise(weights, x, "normalisation")
        before = None
        for scope, filters in self.plan:
            with tf.name_scope(scope):
                regular = scope.startswith("cell")
                wiring, stride = (normal, 1) if regular else (reduction, 2)
                x, before = apply_cell(weights, wiring, x, before, filters, stride), x
        with tf.name_scope("head"):
            pooled = tf.reduce_mean(tf.nn.relu(x), [1, 2])
            kernel = weights.get("kernel", [pooled.shape[-1], CLASSES])
            bias = weights.get("bias", [CLASSES])
            logits = tf.nn.bias_add(tf.matmul(pooled, kernel.read_value()), bias.read_value())
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
            return tf.reduce_mean(losses)


def apply_cell(
    weights: Weights, cell: Cell, x: tf.Tensor, before: tf.Tensor | None, filters: int, stride: int
) -> tf.Tensor:
    """Apply a cell to what the last one and the one before it gave, float32[batch, h, w, c]."""
    import tensorflow as tf

    with tf.name_scope("before"):
        matched = x if before is None else match(weights, before, x, filters)
    with tf.name_scope("input"):
        states = [convolve_after_relu(weights, x, "1x1", filters), matched]
    for number, (left, left_state, right, right_state) in enumerate(cell.pairs):
        sides = []
        for side, kind, state in (("left", left, left_state), ("right", right, right_state)):
            with tf.name_scope(f"{side}_{number}"):
                # Only a cell's two inputs are still to be halved.
                step = stride if state < 2 else 1
                sides.append(operate(weights, kind, states[state], filters, step))
        with tf.name_scope(f"sum_{number}"):
            states.append(sides[0] + sides[1])
    with tf.name_scope("output"):
        return tf.concat([states[state] for state in cell.output], 3)


def match(weights: Weights, before: tf.Tensor, x: tf.Tensor, filters: int) -> tf.Tensor:
    """Bring what the cell before gave to the size of ``x`` and to so many filters."""
    import tensorflow as tf

    if before.shape[1] == x.shape[1]:
        if before.shape[-1] == filters:
            return before
        return convolve_after_relu(weights, before, "1x1", filters)
    before = tf.nn.relu(before)
    # Two paths, one pixel apart, so that halving loses no information.
    moved = tf.pad(before, [[0, 0], [0, 1], [0, 1], [0, 0]])[:, 1:, 1:]
    halves = [
        convolve(weights, tf.nn.avg_pool2d(path, 1, 2, "VALID"), name, filters // 2)
        for name, path in (("here", before), ("moved", moved))
    ]
    return normalise(weights, tf.concat(halves, 3), "normalisation")


def operate(weights: Weights, kind: str, x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
    """Apply one operation of a cell."""
    import tensorflow as tf

    name, _, size = kind.partition(" ")
    if name == "none":
        same = stride == 1 and x.shape[-1] == filters
        return x if same else convolve_after_relu(weights, x, "1x1", filters, stride=(stride,) * 2)
    if name == "1x1":
        return convolve_after_relu(weights, x, name, filters, stride=(stride,) * 2)
    if name == "separable":
        for number in (1, 2):
            x = convolve_separably(
                weights, tf.nn.relu(x), f"convolution_{number}", filters, int(size), stride
            )
            x, stride = normalise(weights, x, f"normalisation_{number}"), 1
        return x
    if name in ("3x3", "1x7_7x1"):
        return squeeze(weights, name, x, filters, stride)
    pool = {"max": tf.nn.max_pool2d, "avg": tf.nn.avg_pool2d}[name]
    x = pool(x, int(size), stride, "SAME")
    if x.shape[-1] == filters:
        return x
    return normalise(weights, convolve(weights, x, "1x1", filters), "normalisation")


def squeeze(weights: Weights, kind: str, x: tf.Tensor, filters: int, stride: int) -> tf.Tensor:
    """Convolve with a quarter of the filters, between two convolutions of 1 x 1."""
    few = filters // 4
    x = convolve_after_relu(weights, x, "narrow", few)
    if kind == "3x3":
        x = convolve_after_relu(weights, x, "3x3", few, (3, 3), (stride, stride))
    else:
        x = convolve_after_relu(weights, x, "1x7", few, (1, 7), (1, stride))
        x = convolve_after_relu(weights, x, "7x1", few, (7, 1), (stride, 1))
    return convolve_after_relu(weights, x, "wide", filters)


def convolve_after_relu(
    weights: Weights,
    x: tf.Tensor,
    name: str,
    filters: int,
    size: tuple[int, int] = (1, 1),
    stride: tuple[int, int] = (1, 1),
) -> tf.Tensor:
    """ReLU, convolution, batch normalisation."""
    import tensorflow as tf

    with tf.name_scope(name):
        x = convolve(weights, tf.nn.relu(x), "convolution", filters, size, stride)
        return normalise(weights, x, "normalisation")


TASKS = {"amoebanet_d": AmoebaNet(), "amoebanet_a": AmoebaNet(kind="A")}
