"""HSDAG: its graph and parsing by hand, its network against a slow one, its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields

import numpy as np
import pytest
import tensorflow as tf
from fan import fan
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from six_ops import every_placement, six_ops

from planners.features.class_graph import ClassGraph
from planners.features.coarse_graph import Coarse, node_features, positions
from planners.features.fractal_dimension import fractal_dimensions
from planners.features.graph_parsing import Level, parse
from planners.hsdag import HSDAG, Policy
from planners.hsdag_released import HSDAGReleased
from planners.hsdag_tuned import HSDAGTuned
from planners.nn.perceptron import Perceptron
from planners.policy_gradient.views import View
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

Array = NDArray[np.float64]
SMALL = {"hidden": 6, "coarsening": "none", "steps": 3}


@pytest.fixture(scope="module", autouse=True)
def uncompiled() -> Iterator[None]:
    """Run networks without compiling them, which takes longer than all else here."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def graph_of(ops: int, edges: Sequence[tuple[int, int]]) -> ClassGraph:
    """Operations that send a tensor along each edge."""
    built = OpGraph.create(
        "drawn",
        [str(i) for i in range(ops)],
        ["Op"] * ops,
        producer=[a for a, _ in edges],
        consumers=[(i, b) for i, (_, b) in enumerate(edges)],
        seconds={"cpu": 1.0, "gpu": 1.0},
    )
    return ClassGraph(Problem.create(built, six_ops().machine))


def policy(**change: object) -> Policy:
    made = HSDAG(**{**SMALL, **change})
    found = made.policy(Coarse.of(ClassGraph(fan()), made.coarsening), np.random.default_rng(0))
    drawn = np.random.default_rng(1)
    for variable in found.optimizer.variables:  # biases start at 0 and would hide a mistake
        variable.assign(drawn.normal(0, 0.5, variable.shape))
    return found


def test_an_only_child_joins_the_parent_whose_only_child_it_is() -> None:
    # 0 - 1 - 2 in a row; 2 has the children 3 and 4; 5 has both as parents; 6 follows 5.
    graph = graph_of(7, [(0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6)])
    assert Coarse.of(graph, "chain").of_class.tolist() == [0, 0, 0, 1, 2, 3, 3]
    assert Coarse.of(graph, "only_parent").of_class.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert Coarse.of(graph, "none").of_class.tolist() == [0, 1, 2, 3, 4, 5, 6]
    ends = np.stack(Coarse.of(graph, "chain").edges, axis=1)
    assert ends.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]


def test_the_fractal_dimension_of_a_path_and_a_star() -> None:
    # From the end of a path, 1, 2, 3 nodes are within 1, 2, 3 hops: a line.
    path = fractal_dimensions(4, np.array([0, 1, 2]), np.array([1, 2, 3]))
    # From the second, 2 and 3 are within 1 and 2.
    second = np.log(3 / 2) / np.log(2)
    assert path == pytest.approx([1, second, second, 1])
    # From a leaf of a star, 1 and 4 nodes; from its middle all are next to it.
    star = fractal_dimensions(5, np.zeros(4, np.int64), np.array([1, 2, 3, 4]))
    assert star == pytest.approx([0, 2, 2, 2, 2])
    assert fractal_dimensions(3, np.array([0]), np.array([1])).tolist() == [0, 0, 0]


def test_features_tell_what_is_named() -> None:
    graph = Coarse.of(ClassGraph(fan()), "none")
    degrees = node_features(graph, ["out_degree", "in_degree"], 4)
    # In-degrees 0, 1, 1, 1, 2, 2 and out-degrees 3, 2, 2, 0, 0, 0, one hot each.
    assert degrees[[0, 1, 4]].tolist() == [
        [1, 0, 0, 0, 0, 1],
        [0, 1, 0, 0, 1, 0],
        [0, 0, 1, 1, 0, 0],
    ]
    assert node_features(graph, ["position"], 0)[:, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert positions(2, 4)[1] == pytest.approx([np.sin(1), np.cos(1), np.sin(0.01), np.cos(0.01)])
    widths = [node_features(graph, [name], 4).shape[1] for name in ("type", "fractal", "shape")]
    assert node_features(graph, ["type", "fractal", "shape"], 4).shape[1] == sum(widths)


def test_types_of_a_chain_are_mixed() -> None:
    graph = Coarse.of(ClassGraph(six_ops()), "chain")
    # MatMul, Relu, MatMul twice.
    assert node_features(graph, ["type"], 4) == pytest.approx(np.array([[2 / 3, 1 / 3]] * 2))


def test_every_node_keeps_its_best_edge() -> None:
    # A path 0 - 1 - 2 - 3 - 4, and 5 alone: 0 and 1 like each other best, so do 3 and 4; 2 has to
    # choose between them.
    sources, targets = np.arange(4), np.arange(1, 5)
    logits = np.array([3.0, 1.0, 2.0, 5.0])
    assert parse(6, sources, targets, logits)[1].tolist() == [0, 0, 1, 1, 1, 2]
    logits[1] = 2.5
    assert parse(6, sources, targets, logits)[1].tolist() == [0, 0, 0, 1, 1, 2]
    # Of equal edges the first is kept.
    assert parse(5, sources, targets, np.zeros(4))[1].tolist() == [0, 0, 0, 0, 0]
    assert parse(4, *np.array([[0, 2, 1], [1, 3, 2]]), np.zeros(3))[1].tolist() == [0, 0, 1, 1]


@settings(max_examples=100)
@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_parsing_is_the_slow_one(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 0.3]
    sources, targets = np.array(pairs, np.int64).reshape(-1, 2).T
    logits = rng.integers(0, 4, len(pairs)).astype(np.float64)
    near: list[set[int]] = [{v} for v in range(count)]
    for v in range(count):
        mine = [i for i, pair in enumerate(pairs) if v in pair]
        if mine:
            a, b = pairs[max(mine, key=lambda i: (logits[i], -i))]
            near[a].add(b)
            near[b].add(a)
    group = list(range(count))
    for _ in range(count):
        group = [min(group[u] for u in near[v]) for v in range(count)]
    numbers = {first: i for i, first in enumerate(sorted(set(group)))}
    groups, of_node = parse(count, sources, targets, logits)
    assert of_node.tolist() == [numbers[first] for first in group]
    assert groups == len(numbers)


def relu(x: Array) -> Array:
    return np.maximum(0, x)


def norm(x: Array) -> Array:
    return (x - x.mean()) / np.sqrt(x.var() + 1e-6)


def masks(made: Policy, seed: int, layer: int, rows: int) -> Array:
    rate = made.settings.dropout
    drawn = np.random.default_rng((seed, layer)).random((rows, made.settings.hidden), np.float32)
    return (drawn >= rate) / (1 - rate) if rate else np.ones(drawn.shape)


def slow_perceptron(made: Policy, layers: Perceptron, x: Array, seed: int, number: int) -> Array:
    for i, (weights, bias) in enumerate(layers.layers):
        if i:
            x = relu(x) * masks(made, seed, number + i, len(x))
        x = x @ np.asarray(weights, np.float64) + np.asarray(bias, np.float64)
    return x


def slow_logits(made: Policy, view: View) -> Array:
    """Node by node, edge by edge, group by group."""
    graph, seed = made.graph, view.masks.seed
    near = [{v} for v in range(graph.count)]
    for a, b in zip(*graph.edges, strict=True):
        near[a].add(b)
        near[b].add(a)
    told = slow_perceptron(made, made.transform, made.features.astype(np.float64), seed, 100)
    start = np.array([norm(norm(row) + own) for row, own in zip(told, view.state, strict=True)])
    x = start
    for number, layer in enumerate(made.convolutions, 200):
        root = [np.sqrt(len(nodes)) for nodes in near]
        mixed = [sum(x[u] / root[u] / root[v] for u in near[v]) for v in range(graph.count)]
        x = relu(slow_perceptron(made, layer, np.array(mixed), seed, number))
        x = x * masks(made, seed, number, len(x))
    z = np.array([norm(a + b) for a, b in zip(start, x, strict=True)])
    for level in view.levels:
        edges = list(zip(level.sources, level.targets, strict=True))
        products = np.array([z[a] * z[b] for a, b in edges]).reshape(len(edges), -1)
        scores = slow_perceptron(made, made.scorer, products, seed, 300)[:, 0]
        rows = []
        for group in range(level.counts[0]):
            home = np.flatnonzero(level.groups == group)
            inner = [
                1 / (1 + np.exp(-score))
                for score, (a, b) in zip(scores, edges, strict=True)
                if a in home and b in home
            ]
            rows.append(norm(z[home].sum(axis=0)) * (np.mean(inner) if inner else 1))
        z = np.array(rows)
    return slow_perceptron(made, made.placer, z, seed, 400)


@pytest.mark.parametrize("change", [{}, {"dropout": 0.0}, {"levels": 0}, {"levels": 2}])
def test_the_network_is_the_slow_one(change: dict[str, object]) -> None:
    made = policy(**change)
    rng = np.random.default_rng(3)
    state = rng.normal(size=(made.graph.count, 6)).astype(np.float32)
    views = [made.look(state, rng), made.look(0 * state, rng)]
    slow = [slow_logits(made, view) for view in views]
    for view, logits in zip(views, slow, strict=True):
        powers = np.exp(logits)
        assert view.chances == pytest.approx(powers / powers.sum(axis=1, keepdims=True), rel=1e-3)
    if len({len(view.levels) for view in views}) == 1:
        # Side by side they are what they are alone.
        (part,) = made.side_by_side(views, [view.chances for view in views])
        assert made.logits(part).numpy() == pytest.approx(np.concatenate(slow), rel=1e-3, abs=1e-4)


def test_compiled_it_is_the_same() -> None:
    made = policy(levels=2)
    state = np.random.default_rng(3).normal(size=(6, 6)).astype(np.float32)

    def found() -> tuple[list[View], list[Array]]:
        views = [made.look(state, np.random.default_rng(seed)) for seed in range(3)]
        parts = made.side_by_side(views, [view.chances for view in views])
        return views, [np.asarray(gradient, np.float64) for gradient in made.gradients(parts)]

    slow, slow_gradients = found()
    tf.config.run_functions_eagerly(False)
    try:
        fast, gradients = found()
    finally:
        tf.config.run_functions_eagerly(True)
    for one, other in zip(fast, slow, strict=True):
        assert one.of_node.tolist() == other.of_node.tolist()
        assert one.chances == pytest.approx(other.chances, rel=1e-4)
    for one, other in zip(gradients, slow_gradients, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-4)


def test_parsing_on_and_on_leaves_one_group() -> None:
    view = policy(levels=0).look(np.zeros((6, 6), np.float32), np.random.default_rng(0))
    assert len(view.chances) == 1
    assert len(view.levels) > 1


def test_the_gradient_is_that_of_finite_differences() -> None:
    made = policy()
    rng = np.random.default_rng(3)
    views = [made.look(np.zeros((6, 6), np.float32), rng) for _ in range(3)]
    weights = [rng.normal(size=view.chances.shape) for view in views]
    gradients = made.gradients(made.side_by_side(views, weights))
    parts = {
        "scorer": made.scorer.layers[-1][1],
        "placer": made.placer.layers[-1][1],
        "transform": made.transform.layers[0][1],
    }

    def loss() -> float:
        total = 0.0
        for view, weight in zip(views, weights, strict=True):
            logits = slow_logits(made, view)
            chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
            total -= float((np.log(chances) * weight).sum())
        return total

    for variable in parts.values():
        at = next(i for i, one in enumerate(made.optimizer.variables) if one is variable)
        before, slopes = np.asarray(variable), []
        for unit in np.eye(len(before), dtype=np.float32):
            ends = []
            for step in (5e-5, -5e-5):
                variable.assign(before + step * unit)
                ends.append(loss())
            slopes.append((ends[0] - ends[1]) / 1e-4)
        variable.assign(before)
        assert gradients[at].numpy() == pytest.approx(slopes, rel=2e-2, abs=2e-3)


def scores(*times: float) -> Scores:
    count = len(times)
    return Scores(np.array(times), np.zeros(count, np.bool_), np.zeros((count, 1), np.int64))


def test_rewards_by_hand() -> None:
    judged, apart = scores(0.5, 0.25, 1.0), np.zeros(3, np.bool_)
    rewards = HSDAG().rewards(judged, apart)
    assert rewards.tolist() == [2, 4, 1]
    assert HSDAG(discount=0.5).weights(rewards).tolist() == [2, 2, 0.25]
    assert HSDAG(discount=0.5, baseline="mean").weights(rewards) == pytest.approx(
        [2 - 7 / 3, (4 - 7 / 3) / 2, (1 - 7 / 3) / 4]
    )
    # Released: the last reward counts in full.
    assert HSDAGReleased(discount=0.5).weights(rewards).tolist() == [3.5] * 3
    full = Scores(judged.step_time, np.array([True, False, False]), judged.peak_memory)
    assert HSDAG().rewards(full, apart).tolist() == [0, 4, 1]
    # Everything on one device counts, but not as released.
    alone = np.array([False, True, False])
    assert HSDAG().rewards(judged, alone).tolist() == [2, 4, 1]
    assert HSDAGReleased().rewards(judged, alone).tolist() == [2, 0, 1]
    assert HSDAGTuned().weights(rewards).mean() == pytest.approx(0)


def test_what_is_carried_over_stays_as_large_and_groups_stay() -> None:
    """Sums of embeddings grow from step to step; then all edges score alike."""
    problem = six_ops()
    made = HSDAG(**SMALL)
    drawn = made.policy(Coarse.of(ClassGraph(problem), "none"), np.random.default_rng(0))
    state = np.zeros((6, 6), np.float32)
    for _ in range(20):
        view = drawn.look(state, np.random.default_rng(0))
        state = np.asarray(tf.constant(state + view.pooled[view.of_node]))
        state = np.array([norm(row) for row in state], np.float32)
        assert 2 <= len(view.chances) <= 3
        assert np.abs(state).max() < 3


@pytest.mark.parametrize("planner", [HSDAG, HSDAGTuned])
def test_six_operations_are_placed_best_from_two_seeds(planner: type[HSDAG]) -> None:
    problem = six_ops(cpu=None)
    judge = Simulator(problem)
    optimum = judge(every_placement(problem)).step_time.min()
    made = planner(hidden=8, coarsening="none", epochs=1, steps=10, learning_rate=0.003)
    for seed in range(2):
        placement = made.place(problem, Search(problem, judge, seed, max_evaluations=60))
        assert judge.run(placement.devices).step_time == optimum


def test_the_tuned_policy_itself_gets_better() -> None:
    problem = six_ops()
    told: list[float] = []
    search = Search(problem, Simulator(problem), 0)
    search.journal.listener = lambda progress: told.append(progress.scalars["reward"])
    HSDAGTuned(hidden=16, coarsening="none", learning_rate=0.02, episodes=25).place(problem, search)
    assert np.mean(told[-5:]) > 1.2 * np.mean(told[:5])


def test_released_puts_everything_on_one_device_and_gains_nothing() -> None:
    problem, told = fan(), list[float]()
    search = Search(problem, Simulator(problem), 0)
    search.journal.listener = lambda progress: told.append(progress.scalars["reward"])
    made = HSDAGReleased(hidden=8, episodes=2)
    placement = made.place(problem, search)
    assert len(set(placement.devices.tolist())) == 1
    assert told == [0, 0]


def test_a_scrambled_placement_is_a_permutation() -> None:
    graph = Coarse.of(ClassGraph(six_ops()), "none")
    devices = np.array([[0, 1, 2, 0, 1, 1]])
    plain, scrambled = (graph.placed(devices, one) for one in (False, True))
    assert plain.tolist() != scrambled.tolist()
    assert sorted(plain[0]) == sorted(scrambled[0])
    assert (graph.placed(devices, True) == scrambled).all()


def test_side_by_side_levels_do_not_touch() -> None:
    one = Level.of(3, np.array([0]), np.array([1]), np.zeros(1))
    both = Level.side_by_side([one, one])
    assert both.groups.tolist() == [0, 0, 1, 2, 2, 3]
    assert (both.sources.tolist(), both.targets.tolist()) == ([0, 3], [1, 4])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": ("type", "colour")}, r"features are \['type', 'colour'\]; give at least one"),
        ({"features": ()}, "give at least one of type, in_degree"),
        ({"coarsening": "fine"}, "coarsening is 'fine'; known: chain, only_parent, none"),
        ({"dropout": 1.0}, "dropout is 1.0; give a share"),
        ({"levels": -1}, "levels or position_size is below 0"),
    ],
)
def test_wrong_settings_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HSDAG(**change)


def test_the_papers_numbers() -> None:
    paper = {field.name: field.default for field in fields(HSDAG)}
    assert (paper["hidden"], paper["dropout"], paper["learning_rate"]) == (128, 0.2, 1e-4)
    assert (paper["steps"], paper["episodes"], paper["epochs"], paper["levels"]) == (20, 100, 4, 1)
