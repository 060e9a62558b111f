"""Small networks whose times tell a device's and a link's figures. A leaf: loads OpenVINO."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import openvino
from openvino import opset13 as op

from suite.capture.openvino.to_graph import op_names
from suite.capture.options import Options
from suite.core.arrays import Ints
from suite.execution.openvino.network import Network

Tensor: TypeAlias = "openvino.Node"

SIZE = 768
"""Rows of the square matrices whose product tells the peak FLOP/s."""
ELEMENTS = 4_000_000
"""Of the vectors whose sum tells the memory bandwidth: far beyond caches."""
CONVOLUTION_FLOPS = 2.0 * 8 * 32 * 32 * 64 * 64 * 9
"""FLOP of the convolution, zeros at the border counted."""
CHAINS = (20, 220)
"""Lengths of the chains of small operations."""
HOPS = 10
"""Transfers in a chain whose operations lie on two devices by turns."""


class Probe:
    """A network in a file of its own, and the operation whose kernel is timed."""

    def __init__(self, folder: Path, name: str, build: Callable[[Tensor], Tensor], *shape: int):
        """Build it from one input, float32[shape]."""
        given = op.parameter([*shape], np.float32, name="given")
        model = openvino.Model([build(given)], [given], name)
        path = folder / f"{name}.xml"
        openvino.save_model(model, path, compress_to_fp16=False)
        names = tuple(op_names(openvino.Core().read_model(path).get_ordered_ops()))
        self.step = Network.of(str(path), names, Options())

    def on(self, device: int) -> Ints:
        """int64[ops]: everything on one device."""
        return np.full(len(self.step.op_names), device)

    def by_turns(self, first: int, second: int) -> Ints:
        """int64[ops]: the links of a chain by turns; what begins and ends it is on the first."""
        numbers = [name.partition("link_")[2] for name in self.step.op_names]
        turns = [int(number) % 2 if number.isdigit() else 0 for number in numbers]
        return np.where(turns, second, first)


def product(folder: Path) -> Probe:
    """A matrix product."""
    weights = _numbers(SIZE, SIZE)
    return Probe(
        folder, "product", lambda x: _timed(op.matmul(x, weights, False, False)), SIZE, SIZE
    )


def total(folder: Path) -> Probe:
    """A sum of two vectors."""
    other = _numbers(ELEMENTS)
    return Probe(folder, "total", lambda x: _timed(op.add(x, other)), ELEMENTS)


def convolution(folder: Path) -> Probe:
    """A convolution: 3 x 3, 64 channels, 8 images of 32 x 32."""
    kernel, pads = _numbers(64, 64, 3, 3), [1, 1]

    def build(x: Tensor) -> Tensor:
        return _timed(op.convolution(x, kernel, [1, 1], pads, pads, [1, 1]))

    return Probe(folder, "convolution", build, 8, 64, 32, 32)


def chain(folder: Path, length: int, elements: int) -> Probe:
    """Operations ``link_i`` one after another, of a kind that OpenVINO does not fuse."""

    def build(x: Tensor) -> Tensor:
        for i in range(length):
            x = op.softmax(x, 1)
            x.set_friendly_name(f"link_{i}")
        return x

    return Probe(
        folder, f"chain_{length}_{elements}", build, max(1, elements // 64), min(64, elements)
    )


def _numbers(*shape: int) -> Tensor:
    return op.constant(np.random.default_rng(0).random(shape, np.float32))


def _timed(node: Tensor) -> Tensor:
    node.set_friendly_name("timed")
    return node
