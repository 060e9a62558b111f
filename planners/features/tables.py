"""Tables of numbers about a graph's classes, as networks take them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from suite.core.arrays import Ints

Matrix = NDArray[np.float32]


def output_shapes(graph: ClassGraph, outputs: int, dimensions: int) -> Matrix:
    """First dimensions of the first outputs: float32[classes, outputs * dimensions], rest -1."""
    table = np.full((graph.count, outputs, dimensions), -1, np.float32)
    for op, shapes in enumerate(graph.shapes):
        for i, shape in enumerate(shapes[:outputs]):
            table[op, i, : len(shape[:dimensions])] = shape[:dimensions]
    return table.reshape(graph.count, -1)


def neighbours(position: Ints, offsets: Ints, classes: Ints, width: int) -> Matrix:
    """Positions of each class's first ``width`` neighbours: float32[classes, width], rest -1.

    ``position``: int[classes]; class c has the neighbours ``classes[offsets[c]:offsets[c + 1]]``.
    """
    table = np.full((len(position), width), -1, np.float32)
    for op, (start, end) in enumerate(pairwise(offsets)):
        near = np.sort(position[classes[start:end]])[:width]
        table[op, : len(near)] = near
    return table


def standard(features: Matrix) -> Matrix:
    """Logarithms of numbers >= -1, each column with mean 0 and deviation 1."""
    logs = np.log1p(features + 1)
    spread = logs.std(axis=0)
    return np.asarray((logs - logs.mean(axis=0)) / np.where(spread > 0, spread, 1), np.float32)
