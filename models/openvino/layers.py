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


def weights(*shape: int) -> openvino.Node:
    """Random numbers, float32[shape], the same whenever they are asked for.

    Biases too: zeros would be removed where a network is converted, and with them operations.
    They are as large as keeps the outputs of many layers finite.
    """
    numbers = np.random.default_rng(shape).random(shape, np.float32) - np.float32(0.5)
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
    """Finish a network; operations are named by their type, numbered, inputs keep their names."""
    model = openvino.Model([*outputs], [*inputs], name)
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
