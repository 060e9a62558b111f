"""Small models of OpenVINO's, made where they are needed."""

import base64

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

import openvino
from openvino import opset13 as op

TINY_ONNX = base64.b64decode(
    "CAgSADqQAQoSCgF4CgF3CgFiEgFhIgRHZW1tCgwKAWESAXkiBFJlbHUSBHRpbnkqIwgCCAMQAUIBd0oYAACAPwAA"
    "AEAAAEBAAACAQAAAoEAAAMBAKhUIAxABQgFiSgwAAAAAAACAPwAAAEBaFAoBeBIPCg0IARIJCgMSAU4KAggCYhQK"
    "AXkSDwoNCAESCQoDEgFOCgIIA0IECgAQEQ=="
)
"""relu(x @ [[1, 2, 3], [4, 5, 6]] + [0, 1, 2]) as ONNX, with an open batch."""


def constant(*shape, kind=np.float32):
    """Numbers that are not all alike."""
    return op.constant(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(kind))


def dense(rows=2):
    """relu(x @ w + b), reshaped: [rows, 3] to [4 * rows]; -1 leaves the rows open."""
    x = op.parameter([rows, 3], np.float32, name="x")
    product = op.matmul(x, constant(3, 4), False, False)
    active = op.relu(op.add(product, constant(1, 4)))
    flat = op.reshape(active, op.constant(np.array([-1], np.int64)), False)
    return openvino.Model([flat], [x], "dense")


def convolutions(size=12):
    """Two branches of convolutions and their sum, so that devices may take turns."""
    x = op.parameter([1, 3, size, size], np.float32, name="image")
    branches = []
    for width in (1, 3):
        pad = [width // 2] * 2
        y = op.convolution(x, constant(8, 3, width, width), [1, 1], pad, pad, [1, 1])
        branches.append(op.relu(op.add(y, constant(1, 8, 1, 1))))
    pooled = op.reduce_mean(op.add(*branches), op.constant(np.array([2, 3])), False)
    scores = op.softmax(op.matmul(pooled, constant(8, 5), False, False), 1)
    return openvino.Model([scores], [x], "convolutions")
