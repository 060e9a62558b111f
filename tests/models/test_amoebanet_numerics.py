"""What AmoebaNet's cells compute, beside NumPy, and how many weights the networks have."""

import numpy as np
import pytest
import tensorflow as tf

from models._convolutional import Weights
from models.amoebanet import CELLS, CLASSES, AmoebaNet, apply_cell

FILTERS = 8


def windows(x, size, stride, outside=0.0):
    """What each position of a kernel reads, with the padding that TensorFlow calls SAME."""
    out = [-(-n // s) for n, s in zip(x.shape[1:3], stride, strict=True)]
    missing = [
        max((m - 1) * s + k - n, 0)
        for m, s, k, n in zip(out, stride, size, x.shape[1:3], strict=True)
    ]
    padding = [(0, 0), *[(m // 2, m - m // 2) for m in missing], (0, 0)]
    x = np.pad(x, padding, constant_values=outside)
    for i in range(size[0]):
        for j in range(size[1]):
            rows, columns = (
                slice(at, at + (m - 1) * s + 1, s)
                for at, m, s in zip((i, j), out, stride, strict=True)
            )
            yield (i, j), x[:, rows, columns]


class ByHand:
    """A cell with the weights of the one that was built, by scope."""

    def __init__(self, weights, stride):
        self.weights, self.stride = weights, stride

    def convolution(self, scope, x, stride=(1, 1)):
        kernel = self.weights[f"{scope}/kernel"]
        return sum(part @ kernel[at] for at, part in windows(x, kernel.shape[:2], stride))

    def normalised(self, scope, x):
        scaled = (x - x.mean((0, 1, 2))) / np.sqrt(x.var((0, 1, 2)) + 1e-3)
        return scaled * self.weights[f"{scope}/gain"] + self.weights[f"{scope}/offset"]

    def usual(self, scope, x, stride=(1, 1)):
        """ReLU, convolution, normalisation."""
        x = self.convolution(f"{scope}/convolution", np.maximum(x, 0), stride)
        return self.normalised(f"{scope}/normalisation", x)

    def separable(self, scope, x, stride):
        for number, step in ((1, stride), (2, 1)):
            own = self.weights[f"{scope}/convolution_{number}/depthwise"]
            parts = windows(np.maximum(x, 0), own.shape[:2], (step, step))
            x = sum(part * own[at][:, 0] for at, part in parts)
            x = x @ self.weights[f"{scope}/convolution_{number}/pointwise"][0, 0]
            x = self.normalised(f"{scope}/normalisation_{number}", x)
        return x

    def pool(self, scope, kind, size, x, stride):
        square = (size, size), (stride, stride)
        if kind == "max":
            x = np.max([part for _, part in windows(x, *square, -np.inf)], 0)
        else:  # the mean of what lies in the image
            total = sum(part for _, part in windows(x, *square))
            x = total / sum(part for _, part in windows(np.ones_like(x), *square))
        if x.shape[-1] != FILTERS:
            x = self.normalised(f"{scope}/normalisation", self.convolution(f"{scope}/1x1", x))
        return x

    def operation(self, scope, kind, x, stride):
        name, _, size = kind.partition(" ")
        if name == "none" and stride == 1 and x.shape[-1] == FILTERS:
            return x
        if name in ("none", "1x1"):
            return self.usual(f"{scope}/1x1", x, (stride, stride))
        if name == "separable":
            return self.separable(scope, x, stride)
        if name in ("max", "avg"):
            return self.pool(scope, name, int(size), x, stride)
        x = self.usual(f"{scope}/narrow", x)
        if name == "3x3":
            x = self.usual(f"{scope}/3x3", x, (stride, stride))
        else:
            x = self.usual(f"{scope}/7x1", self.usual(f"{scope}/1x7", x, (1, stride)), (stride, 1))
        return self.usual(f"{scope}/wide", x)

    def before(self, x, previous):
        if previous is None:
            return x
        if previous.shape[1] == x.shape[1]:
            return self.usual("before/1x1", previous) if previous.shape[-1] != FILTERS else previous
        previous = np.maximum(previous, 0)
        moved = np.zeros_like(previous)
        moved[:, :-1, :-1] = previous[:, 1:, 1:]
        halves = [
            self.convolution(f"before/{name}", half[:, ::2, ::2])
            for name, half in (("here", previous), ("moved", moved))
        ]
        return self.normalised("before/normalisation", np.concatenate(halves, 3))

    def cell(self, cell, x, previous):
        states = [self.usual("input/1x1", x), self.before(x, previous)]
        for number, (left, i, right, j) in enumerate(cell.pairs):
            strides = [self.stride if state < 2 else 1 for state in (i, j)]
            one = self.operation(f"left_{number}", left, states[i], strides[0])
            states.append(one + self.operation(f"right_{number}", right, states[j], strides[1]))
        return np.concatenate([states[state] for state in cell.output], 3)


PREVIOUS = (7, 6), (7, FILTERS), (13, 6)
"""Pixels and channels: other channels, as many, twice as large."""


@pytest.mark.parametrize(
    ("stride", "previous"), [(2, None), *[(s, one) for s in (1, 2) for one in PREVIOUS]]
)
@pytest.mark.parametrize("kind", CELLS)
def test_a_cell_is_numpys(kind, stride, previous):
    """The first of a network, which halves and has none before it, and others."""
    cell, rng, weights = CELLS[kind][stride - 1], np.random.default_rng(0), Weights()
    x = rng.standard_normal((2, 7, 7, 5))
    before = previous and rng.standard_normal((2, previous[0], previous[0], previous[1]))
    inputs = [one if one is None else tf.constant(one, tf.float32) for one in (x, before)]
    apply_cell(weights, cell, *inputs, FILTERS, stride)
    for variable in weights.trainable:
        variable.assign(rng.standard_normal(variable.shape))
    found = apply_cell(weights, cell, *inputs, FILTERS, stride)
    values = {v.name.rpartition("/")[0]: v.numpy().astype(np.float64) for v in weights.trainable}
    np.testing.assert_allclose(found, ByHand(values, stride).cell(cell, x, before), atol=1e-4)
    counted = weights_of(cell, FILTERS, 5, previous and previous[1], previous == (13, 6), stride)
    assert sum(value.size for value in values.values()) == counted


def normalised(inputs, outputs, terms=1):
    """Weights of a convolution and of the normalisation behind it."""
    return inputs * outputs * terms + 2 * outputs


def weights_of(cell, filters, inputs, before, halved, stride):
    """Those of a cell, from the channels of its two inputs; ``before`` is None for the first."""
    total, states = normalised(inputs, filters), [filters, filters]
    if before is None:
        states[1] = inputs
    elif halved or before != filters:
        total += normalised(before, filters)
    for left, i, right, j in cell.pairs:
        for kind, state in ((left, i), (right, j)):
            channels = (*states, *[filters] * 5)[state]
            step = stride if state < 2 else 1
            total += weights_of_operation(kind, channels, filters, step)
    return total


def weights_of_operation(kind, channels, filters, stride):
    name, _, size = kind.partition(" ")
    few = filters // 4
    ends = normalised(channels, few) + normalised(few, filters)
    if name == "separable":
        depthwise = (channels + filters) * int(size) ** 2
        return depthwise + normalised(channels, filters) + normalised(filters, filters)
    if name == "3x3":
        return ends + normalised(few, few, 9)
    if name == "1x7_7x1":
        return ends + 2 * normalised(few, few, 7)
    kept = channels == filters and (name != "none" or stride == 1)
    return 0 if kept and name != "1x1" else normalised(channels, filters)


def weights_of_network(model):
    total, channels, before, last = normalised(3, 32, 9), 32, None, None
    for scope, filters in model.plan:
        regular = scope.startswith("cell")
        cell, halved = CELLS[model.kind][0 if regular else 1], last is False
        total += weights_of(cell, filters, channels, before, halved, 1 if regular else 2)
        before, channels, last = channels, filters * len(cell.output), regular
    return total + (channels + 1) * CLASSES


@pytest.mark.parametrize(
    ("model", "published"),
    [
        (AmoebaNet("A", cells=18, filters=190), 86.7e6),
        (AmoebaNet("A", cells=18, filters=448), 469e6),
        (AmoebaNet("D", cells=18, filters=208), 82e6),
    ],
)
def test_the_networks_have_as_many_weights_as_published(model, published):
    """Real et al. 2019, Table 2, and Huang et al. 2019 (GPipe), Table 1.

    That of D has the auxiliary classifier, 0.7 million.
    """
    assert weights_of_network(model) == pytest.approx(published, rel=0.015)


def test_amoebanet_d_has_the_weights_that_were_captured():
    assert weights_of_network(AmoebaNet()) == 121_915_113
