"""Where an unrolled recurrent model computes: layers x steps, split by device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.problem import Problem

ORDER = ("embedding/source", "encoder", "embedding/target", "decoder", "attention", "softmax")
"""Scopes of layers, from the model's inputs to its outputs."""
_NAME = re.compile(
    rf"(?:ConstantFolding/)?(?P<back>gradients/)?(?P<layer>(?:{'|'.join(ORDER)})(?:/layer_\d+)?)"
    r"/step_(?P<step>\d+)(?:/|$)"
)


@dataclass(frozen=True, eq=False)
class Unrolled:
    """Compute seconds of a placement's operations, by the layer and step in their names."""

    layers: tuple[str, ...]
    """From inputs to outputs."""
    seconds: NDArray[np.float64]
    """float64[2, layers, steps, devices]: forward, then backward operations."""
    elsewhere: float
    """Share of all compute seconds that belongs to no layer's step: weights, Adam, sums."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """float64[2, layers, steps, devices]: each device's share of a cell; 0 in empty cells."""
        total = self.seconds.sum(axis=-1, keepdims=True)
        return np.asarray(self.seconds / np.where(total > 0, total, 1))


def unroll(problem: Problem, devices: Ints) -> Unrolled:
    """Sort the operations, placed on ``devices`` (int[ops]), into layers and steps.

    A gradient belongs to the step of the operation it is the gradient of, as its name says.
    """
    ops = np.arange(problem.graph.n_ops)
    spent = problem.seconds[ops, devices]
    matches = [_NAME.match(name) for name in problem.graph.op_names]
    found = [(op, match) for op, match in enumerate(matches) if match]
    layers = sorted({match["layer"] for _, match in found}, key=_order)
    steps = max((int(match["step"]) + 1 for _, match in found), default=0)
    seconds = np.zeros((2, len(layers), steps, problem.machine.n_devices))
    row = {layer: i for i, layer in enumerate(layers)}
    for op, match in found:
        at = int(bool(match["back"])), row[match["layer"]], int(match["step"]), int(devices[op])
        seconds[at] += spent[op]
    return Unrolled(tuple(layers), seconds, float(1 - seconds.sum() / spent.sum()))


def _order(layer: str) -> tuple[int, int]:
    scope, _, number = layer.partition("/layer_")
    return ORDER.index(scope), int(number or 0)
