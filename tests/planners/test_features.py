"""Embeddings of operations and groups, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray
from six_ops import six_ops

from planners import hdp_tf_release
from planners.features.class_graph import ClassGraph
from planners.features.coarse_problem import CoarseProblem
from planners.hdp import HDP, op_features
from planners.hdp_tf_release import TFRelease
from planners.placeto_coarse import PlacetoCoarse
from planners.rnn_based import RnnBased
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Placer, Search
from suite.search.training import Training
from suite.simulator.compiled.judge import Simulator

RAW = HDP(op_scale="raw", group_scale="raw", outputs=1, dimensions=2)
RELEASED = TFRelease(op_scale="raw", group_scale="raw", outputs=1, dimensions=2)


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Run networks without compiling them, which takes longer than so few placements."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


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


def test_groups_of_a_coarse_problem_are_hsdags_nodes() -> None:
    problem = two_ends()
    assert len(set(problem.groups.tolist())) == 1
    assert CoarseProblem.like(problem).groups.tolist() == [0, 0, 0, 1, 2]


def two_ends() -> Problem:
    """a - b - c and e end in d. ColocRL joins all: each is read by a single operation."""
    graph = OpGraph.create(
        "two ends",
        list("abcde"),
        ["Op"] * 5,
        producer=[0, 1, 2, 4],
        consumers=[(0, 1), (1, 2), (2, 3), (3, 3)],
        tensor_bytes=[8] * 4,
        seconds={"cpu": np.ones(5), "gpu": np.ones(5)},
    )
    return Problem.create(graph, six_ops().machine)


def test_placeto_is_trained_on_the_nodes_that_it_places(uncompiled: None) -> None:
    problem, found = two_ends(), list[NDArray[np.int32]]()

    def judge(devices: NDArray[np.int32]) -> Scores:
        found.extend(devices)
        return Simulator(problem)(devices)

    search = Search(problem, judge, max_evaluations=40)
    PlacetoCoarse(episodes=4).train(Training([search], 0))
    devices = np.array(found)
    assert (devices[:, 0] == devices[:, 2]).all()
    assert (devices[:, 0] != devices[:, 3]).any()
    assert (devices[:, 3] != devices[:, 4]).any()


@pytest.mark.parametrize("placer", [RnnBased(hidden=4, updates=3), PlacetoCoarse(episodes=2)])
def test_baselines_of_hsdag_place_its_nodes_whole(placer: Placer, uncompiled: None) -> None:
    problem = six_ops()
    nodes = CoarseProblem.like(problem).groups
    found: list[NDArray[np.int32]] = []

    def judge(devices: NDArray[np.int32]) -> Scores:
        found.extend(devices)
        return Simulator(problem)(devices)

    placer.place(problem, Search(problem, judge, max_evaluations=12))
    devices = np.array(found)
    assert len(set(nodes.tolist())) == 2
    for node in range(2):
        assert (np.ptp(devices[:, nodes == node], axis=1) == 0).all()
    assert (devices[:, nodes == 0][:, 0] != devices[:, nodes == 1][:, 0]).any()


def test_operations_have_shapes_producers_and_readers() -> None:
    rows = op_features(ClassGraph(chain()), replace(RAW, adjacency=4))
    assert rows.tolist() == [
        [4, 3, -1, -1, 1, -1],
        [5, -1, 0, -1, 2, -1],
        [-1, -1, 1, -1, -1, -1],
    ]


def test_signed_neighbours_of_the_released_code() -> None:
    settings, graph = replace(RELEASED, adjacency=4), ClassGraph(chain())
    grouper = settings.grouper(graph, np.random.default_rng(0))
    assert np.asarray(grouper.inputs())[:, 0].tolist() == [0, 1, 0]
    rows = hdp_tf_release.op_features(graph, settings)
    assert rows[:, 2:].tolist() == [[1, 1, 0, 0], [0, -1, 2, 1], [1, -1, 0, 0]]


def test_groups_have_type_counts_shape_sums_and_neighbours() -> None:
    graph = ClassGraph(chain())
    rows = RAW.group_embedding(graph, 3).of(np.array([0, 0, 2]))
    assert rows.tolist() == [[1, 1, 9, 3, 0, 0, 1], [0] * 7, [1, 0, 0, 0, 1, 0, 0]]
    counted = RELEASED.group_embedding(graph, 2).of(np.array([0, 0, 1]))
    assert counted[:, 4:].tolist() == [[1, 1, 1, 0], [0, 0, 1, 0]]


def test_scales() -> None:
    graph, grouping = ClassGraph(chain()), np.array([0, 0, 2])
    raw = RAW.group_embedding(graph, 3).of(grouping)
    divided = replace(RAW, group_scale="row_max").group_embedding(graph, 3).of(grouping)
    np.testing.assert_allclose(divided[0], raw[0] / 10)
    logs = replace(RAW, group_scale="log").group_embedding(graph, 3).of(grouping)
    np.testing.assert_allclose(logs[0], [*np.log1p([1, 1, 9, 3]), 0, 0, 1], rtol=1e-6)
    standard = op_features(ClassGraph(six_ops()), HDP())
    spread = standard.std(axis=0)
    assert np.allclose(standard.mean(axis=0), 0, atol=1e-6)
    assert np.all(np.isclose(spread, 1) | (spread == 0))


def test_breadth_first_positions_follow_the_levels() -> None:
    # Two chains a0 a1 a2 and b0 b1 b2, stored one after the other.
    assert ClassGraph(six_ops()).breadth_first.tolist() == [0, 2, 4, 1, 3, 5]
