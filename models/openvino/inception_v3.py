"""Inception-V3 (Szegedy et al. 2016) as torchvision has it, for one image, ``transform_input``."""

from __future__ import annotations

import numpy as np
import openvino
from openvino import opset13 as op

from models.openvino.layers import (
    Pair,
    Tensor,
    classifier,
    convolution,
    integers,
    max_pool,
    network,
    scalar,
)

SAME: dict[int, Pair] = {1: (0, 0), 3: (1, 1), 5: (2, 2)}
"""Padding that keeps the size, by the width of a square kernel."""


def inception_v3(image_size: int) -> openvino.Model:
    """Return the network from float32[1, 3, image_size, image_size] to 1,000 scores."""
    image = op.parameter([1, 3, image_size, image_size], np.float32, name="image")
    x = _conv(_conv(_transformed(image), 3, 32, (3, 3), 2), 32, 32, (3, 3))
    x = max_pool(_conv(x, 32, 64, (3, 3), 1, (1, 1)), 2, 0)
    x = max_pool(_conv(_square(x, 64, 80), 80, 192, (3, 3)), 2, 0)
    for channels, pooled in ((192, 32), (256, 64), (288, 64)):
        x = _module_a(x, channels, pooled)
    x = _module_b(x)
    for width in (128, 160, 160, 192):
        x = _module_c(x, width)
    x = _module_d(x)
    for channels in (1280, 2048):
        x = _module_e(x, channels)
    return network([classifier(x, 2048, 1000)], [image], "inception_v3")


def _transformed(image: Tensor) -> Tensor:
    """Each colour scaled and shifted to what the weights of TensorFlow's version were made for."""
    # Halves: of torchvision's own six numbers, today's OpenVINO finds two too inexact in float16 to
    # store them so, and the paper's count has the operations that convert all six back.
    colours = []
    for number in range(3):
        colour = op.gather(image, integers(number), integers(1))
        scaled = op.multiply(op.unsqueeze(colour, integers(1)), scalar())
        colours.append(op.add(scaled, scalar()))
    return op.concat(colours, 1)


def _conv(
    x: Tensor, inputs: int, outputs: int, kernel: Pair, stride: int = 1, padding: Pair = (0, 0)
) -> Tensor:
    return op.relu(convolution(x, inputs, outputs, kernel, stride, padding))


def _square(x: Tensor, inputs: int, outputs: int, width: int = 1) -> Tensor:
    return _conv(x, inputs, outputs, (width, width), 1, SAME[width])


def _row(x: Tensor, inputs: int, outputs: int, width: int) -> Tensor:
    return _conv(x, inputs, outputs, (1, width), 1, (0, width // 2))


def _column(x: Tensor, inputs: int, outputs: int, width: int) -> Tensor:
    return _conv(x, inputs, outputs, (width, 1), 1, (width // 2, 0))


def _pooled(x: Tensor, inputs: int, outputs: int) -> Tensor:
    """Average each 3 x 3, zeros around the image included, then convolve."""
    return _square(op.avg_pool(x, [1, 1], [1, 1], [1, 1], [3, 3], False), inputs, outputs)


def _module_a(x: Tensor, channels: int, pooled: int) -> Tensor:
    fives = _square(_square(x, channels, 48), 48, 64, 5)
    threes = _square(_square(_square(x, channels, 64), 64, 96, 3), 96, 96, 3)
    branches = [_square(x, channels, 64), fives, threes, _pooled(x, channels, pooled)]
    return op.concat(branches, 1)


def _module_b(x: Tensor) -> Tensor:
    twice = _square(_square(x, 288, 64), 64, 96, 3)
    branches = [_conv(x, 288, 384, (3, 3), 2), _conv(twice, 96, 96, (3, 3), 2), max_pool(x, 2, 0)]
    return op.concat(branches, 1)


def _module_c(x: Tensor, width: int) -> Tensor:
    once = _column(_row(_square(x, 768, width), width, width, 7), width, 192, 7)
    twice = _row(_column(_square(x, 768, width), width, width, 7), width, width, 7)
    twice = _row(_column(twice, width, width, 7), width, 192, 7)
    return op.concat([_square(x, 768, 192), once, twice, _pooled(x, 768, 192)], 1)


def _module_d(x: Tensor) -> Tensor:
    threes = _conv(_square(x, 768, 192), 192, 320, (3, 3), 2)
    sevens = _column(_row(_square(x, 768, 192), 192, 192, 7), 192, 192, 7)
    return op.concat([threes, _conv(sevens, 192, 192, (3, 3), 2), max_pool(x, 2, 0)], 1)


def _module_e(x: Tensor, channels: int) -> Tensor:
    """The two concatenations within a module are part of the outer one, as OpenVINO merges them."""
    once = _square(x, channels, 384)
    twice = _square(_square(x, channels, 448), 448, 384, 3)
    split = [part(y, 384, 384, 3) for y in (once, twice) for part in (_row, _column)]
    return op.concat([_square(x, channels, 320), *split, _pooled(x, channels, 192)], 1)
