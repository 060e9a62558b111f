"""Layers of OpenVINO operations, with made-up weights: only a network's shape matters here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import openvino
from numpy.typing import ArrayLike
from openvino import opset13 as op

Tensor: TypeAlias = "openvino.Node | openvino.Output"
Pair: TypeAlias = "tuple[int, int]"


_UNDRAWN = "weights without numbers yet"
"""Name of the constants that :func:`network` draws."""


def weights(*shape: int) -> openvino.Node:
    """Random numbers, float32[shape], once the network is finished: the same in every build.

    Biases too: zeros would be removed where a network is converted, and with them operations.
    """
    return op.constant(np.zeros(shape, np.float32), name=_UNDRAWN)


def _drawn(number: int, shape: tuple[int, ...]) -> openvino.Node:
    """The network's weights of that number, as large as keeps the outputs of many layers finite.

    No two are equal: OpenVINO would keep equal ones once, and layers that read the same numbers
    find them in the caches.
    """
    numbers = np.random.default_rng((number, *shape)).random(shape, np.float32) - np.float32(0.5)
    return op.constant(numbers * np.float32((12 / np.prod(shape[1:])) ** 0.5))


def scalar(value: float = 0.5) -> openvino.Node:
    """A single number, float32[1, 1, 1, 1]; float16 holds a half exactly.

    OpenVINO stores a constant as float16, with an operation that converts it back, only where that
    loses little.
    """
    return op.constant(np.full((1, 1, 1, 1), value, np.float32))


def integers(values: ArrayLike) -> openvino.Node:
    """Indices, axes or a shape: an int64 constant."""
    return op.constant(np.array(values, np.int64))


def network(outputs: Sequence[Tensor], inputs: Sequence[Tensor], name: str) -> openvino.Model:
    """Finish a network: draw its weights, name operations by their type, numbered.

    Inputs keep their names.
    """
    model = openvino.Model([*outputs], [*inputs], name)
    undrawn = [one for one in model.get_ordered_ops() if one.get_friendly_name() == _UNDRAWN]
    for number, constant in enumerate(undrawn):
        constant.output(0).replace(_drawn(number, tuple(constant.get_output_shape(0))).output(0))
    seen: Counter[str] = Counter()
    for operation in model.get_ordered_ops():
        kind = operation.get_type_name()
        if kind != "Parameter":
            operation.set_friendly_name(f"{kind}_{seen[kind]}")
            seen[kind] += 1
    return model


def convolution(
    x: Tensor, inputs: int, outputs: int, kernel: Pair, stride: int = 1, padding: Pair = (0, 0)
) -> Tensor:
    """Convolve float32[1, inputs, height, width] and add a bias: batch normalisation is folded."""
    convolved = op.convolution(
        x, weights(outputs, inputs, *kernel), [stride] * 2, [*padding], [*padding], [1, 1]
    )
    return op.add(convolved, weights(1, outputs, 1, 1))


def max_pool(x: Tensor, stride: int, padding: int) -> Tensor:
    """Take the largest of each 3 x 3."""
    pads = [padding] * 2
    return op.max_pool(x, [stride] * 2, [1, 1], pads, pads, [3, 3], "floor").output(0)


def classifier(x: Tensor, features: int, classes: int) -> Tensor:
    """Average float32[1, features, height, width] over the image; one score for each class."""
    averaged = op.reduce_mean(x, integers([2, 3]), keep_dims=True)
    return linear(op.reshape(averaged, integers([1, features]), False), features, classes)


def linear(x: Tensor, inputs: int, outputs: int) -> Tensor:
    """Multiply the last dimension with a matrix and add a bias."""
    rank = len(x.get_output_shape(0)) if isinstance(x, openvino.Node) else len(x.get_shape())
    bias = weights(*[1] * (rank - 1), outputs)
    return op.add(op.matmul(x, weights(outputs, inputs), False, True), bias)
