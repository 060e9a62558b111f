"""Where an unrolled recurrent model computes: layers x steps, split by device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

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
    layers, steps, found, cells = _sorted(problem.graph.op_names)
    seconds = np.zeros((2, len(layers), steps, problem.machine.n_devices))
    np.add.at(seconds, (*cells, devices[found]), spent[found])
    return Unrolled(layers, seconds, float(1 - seconds.sum() / spent.sum()))


@lru_cache(maxsize=2)
def _sorted(names: tuple[str, ...]) -> tuple[tuple[str, ...], int, Ints, tuple[Ints, Ints, Ints]]:
    """Layers, the number of steps, the operations in them, and each one's pass, layer and step."""
    matches = [(op, _NAME.match(name)) for op, name in enumerate(names)]
    found = [(op, match) for op, match in matches if match]
    layers = sorted({match["layer"] for _, match in found}, key=_order)
    row = {layer: i for i, layer in enumerate(layers)}
    back, layer, step = (
        np.array(values, np.int64)
        for values in (
            [bool(match["back"]) for _, match in found],
            [row[match["layer"]] for _, match in found],
            [int(match["step"]) for _, match in found],
        )
    )
    ops = np.array([op for op, _ in found], np.int64)
    return tuple(layers), int(step.max(initial=-1)) + 1, ops, (back, layer, step)


def _order(layer: str) -> tuple[int, int]:
    scope, _, number = layer.partition("/layer_")
    return ORDER.index(scope), int(number or 0)


def layer_name(layer: str) -> str:
    """What to call one of :attr:`Unrolled.layers`, counted from 1."""
    scope, _, number = layer.partition("/layer_")
    side, _, rest = scope.partition("/")
    return f"{scope} {int(number) + 1}" if number else f"{rest} {side}" if rest else scope
