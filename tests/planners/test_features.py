"""Embeddings of operations and groups, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from six_ops import six_ops

from planners._features import GroupFeatures, op_features
from planners._settings import Settings
from planners._units import Units
from suite.core.graph import OpGraph
from suite.core.problem import Problem

RAW = Settings(op_scale="raw", group_scale="raw", outputs=1, dimensions=2)


def chain() -> Problem:
    """a -> b -> c with a Relu in the middle and shapes 4x3, 5."""
    graph = OpGraph.create(
        "chain",
        ["a", "b", "c"],
        ["MatMul", "Relu", "MatMul"],
        producer=[0, 1],
        consumers=[(0, 1), (1, 2)],
        tensor_bytes=[48, 20],
        shapes=[(4, 3), (5,)],
        seconds={"cpu": np.ones(3), "gpu": np.ones(3)},
    )
    return Problem.create(graph, six_ops().machine)


def test_operations_have_shapes_producers_and_readers() -> None:
    rows = op_features(Units(chain()), replace(RAW, adjacency=4))
    assert rows.tolist() == [
        [4, 3, -1, -1, 1, -1],
        [5, -1, 0, -1, 2, -1],
        [-1, -1, 1, -1, -1, -1],
    ]


def test_signed_neighbours_of_the_released_code() -> None:
    settings = replace(RAW, adjacency=4, neighbours="signed", type_embedding=0)
    rows = op_features(Units(chain()), settings)
    assert rows[:, 0].tolist() == [0, 1, 0]
    assert rows[:, 3:].tolist() == [[1, 1, 0, 0], [0, -1, 2, 1], [1, -1, 0, 0]]


def test_groups_have_type_counts_shape_sums_and_neighbours() -> None:
    units = Units(chain())
    rows = GroupFeatures(units, RAW, 3).of(np.array([0, 0, 2]))
    assert rows.tolist() == [[1, 1, 9, 3, 0, 0, 1], [0] * 7, [1, 0, 0, 0, 1, 0, 0]]
    counted = GroupFeatures(units, replace(RAW, group_edges="counts"), 2).of(np.array([0, 0, 1]))
    assert counted[:, 4:].tolist() == [[1, 1, 1, 0], [0, 0, 1, 0]]


def test_scales() -> None:
    units, grouping = Units(chain()), np.array([0, 0, 2])
    raw = GroupFeatures(units, RAW, 3).of(grouping)
    divided = GroupFeatures(units, replace(RAW, group_scale="row_max"), 3).of(grouping)
    np.testing.assert_allclose(divided[0], raw[0] / 10)
    logs = GroupFeatures(units, replace(RAW, group_scale="log"), 3).of(grouping)
    np.testing.assert_allclose(logs[0], [*np.log1p([1, 1, 9, 3]), 0, 0, 1], rtol=1e-6)
    standard = op_features(Units(six_ops()), Settings())
    spread = standard.std(axis=0)
    assert np.allclose(standard.mean(axis=0), 0, atol=1e-6)
    assert np.all(np.isclose(spread, 1) | (spread == 0))


def test_breadth_first_positions_follow_the_levels() -> None:
    # Two chains a0 a1 a2 and b0 b1 b2, stored one after the other.
    assert Units(six_ops()).breadth_first.tolist() == [0, 2, 4, 1, 3, 5]
