"""ResNet-50 (He et al. 2016) as torchvision has it, for one image."""

from __future__ import annotations

import numpy as np
import openvino
from openvino import opset13 as op

from models.openvino.layers import Tensor, classifier, convolution, max_pool, network

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))
"""Blocks and width of each stage; a block's output is four times as wide."""


def resnet50(image_size: int) -> openvino.Model:
    """Return the network from float32[1, 3, image_size, image_size] to 1,000 scores."""
    image = op.parameter([1, 3, image_size, image_size], np.float32, name="image")
    x = max_pool(op.relu(convolution(image, 3, 64, (7, 7), 2, (3, 3))), 2, 1)
    channels = 64
    for stage, (blocks, width) in enumerate(STAGES):
        for number in range(blocks):
            stride = 2 if number == 0 and stage > 0 else 1
            x = _block(x, channels, width, stride, projected=number == 0)
            channels = 4 * width
    return network([classifier(x, channels, 1000)], [image], "resnet50")


def _block(x: Tensor, channels: int, width: int, stride: int, *, projected: bool) -> Tensor:
    """A bottleneck; the stride is that of its 3 x 3 convolution, as in torchvision."""
    y = op.relu(convolution(x, channels, width, (1, 1)))
    y = op.relu(convolution(y, width, width, (3, 3), stride, (1, 1)))
    y = convolution(y, width, 4 * width, (1, 1))
    shortcut = convolution(x, channels, 4 * width, (1, 1), stride) if projected else x
    return op.relu(op.add(y, shortcut))
