"""GDP: its networks against slow ones, PPO against finite differences, its baseline by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from fan import fan
from numpy.typing import NDArray
from six_ops import six_ops

from planners.features.class_graph import ClassGraph
from planners.gdp import GDP, AllTrials, Networks, Policy
from planners.gdp_tuned import GDPTuned
from planners.nn.dense import Dense
from planners.policy_gradient.ppo import clipped
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

pytestmark = pytest.mark.usefixtures("uncompiled")
Array = NDArray[np.float64]
SMALL = {"width": 6, "heads": 2, "segment": 4, "hops": 2, "layers": 2}


def motley() -> Problem:
    """The fan, of operations that differ: a network tells all six apart."""
    graph = OpGraph.create(
        "motley",
        ["a", "b", "c", "d", "e", "f"],
        ["MatMul", "Conv2D", "MatMul", "Relu", "Softmax", "Conv2D"],
        producer=[0, 1, 2, 2],
        consumers=[(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 4), (3, 5)],
        tensor_bytes=[100, 50, 70, 30],
        shapes=[[5, 5], [3, 4], [7, 2], [5, 1]],
        seconds={"cpu": np.full(6, 1.0), "gpu": [0.5, 0.1, 0.2, 0.3, 0.4, 0.6]},
    )
    return Problem.create(graph, six_ops().machine)


def policy(problem: Problem | None = None, **change: object) -> Policy:
    graph = ClassGraph(problem or fan())
    settings = GDP(**{**SMALL, **change})
    networks = Networks.of([graph], settings, np.random.default_rng(0))
    made = Policy(graph, np.arange(graph.count), networks)
    drawn = np.random.default_rng(1)
    for variable in networks.variables:  # biases start at 0 and would hide a mistake
        variable.assign(drawn.normal(0, 0.5, variable.shape))
    return made


def dense(layer: Dense, x: Array) -> Array:
    weights, bias = (np.asarray(v, np.float64) for v in layer.variables)
    return x @ weights + bias


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def relu(x: Array) -> Array:
    return np.maximum(0, x)


def norm(x: Array) -> Array:
    return (x - x.mean()) / np.sqrt(x.var() + 1e-6)


def slow_embedding(made: Policy) -> list[Array]:
    """Node by node."""
    network, told = made.networks.network, made.told
    types = np.asarray(network.embeddings, np.float64)
    x = [
        relu(dense(network.enter, np.concatenate([types[kind.argmax()], shape])))
        for kind, shape in zip(told.types, told.shapes, strict=True)
    ]
    near = [told.senders[told.receivers == v] for v in range(told.count)]
    for aggregate, combine in network.hops:
        sent = [sigmoid(dense(aggregate, row)) for row in x]
        most = [np.max([sent[u] for u in us], axis=0) if len(us) else 0 * x[0] for us in near]
        x = [relu(dense(combine, np.concatenate(pair))) for pair in zip(x, most, strict=True)]
    return x


def slow_logits(made: Policy) -> Array:
    """Segment by segment, node by node, head by head."""
    settings = made.settings
    x, networks = slow_embedding(made), made.networks
    plain = [np.ones(settings.width)] * len(x)
    weighted = [2 * sigmoid(dense(networks.conditioner, row)) for row in x]
    condition = weighted if settings.superposition else plain
    size, share = made.segments.size, settings.width // settings.heads
    for layer in networks.layers:
        seen = [c * norm(row) for c, row in zip(condition, x, strict=True)]
        result = []
        for v, row in enumerate(x):
            first = v // size * size
            context = seen[max(0, first - size) : first + size]
            query = dense(layer.query, seen[v])
            keys = [dense(layer.key, other) for other in context]
            values = [dense(layer.value, other) for other in context]
            mixed = []
            for head in range(settings.heads):
                part = slice(head * share, (head + 1) * share)
                fits = np.array([query[part] @ key[part] for key in keys]) / np.sqrt(share)
                chances = np.exp(fits - fits.max()) / np.exp(fits - fits.max()).sum()
                mixed.append(sum(c * value[part] for c, value in zip(chances, values, strict=True)))
            row = row + dense(layer.out, condition[v] * np.concatenate(mixed))
            hidden = relu(dense(layer.first, condition[v] * norm(row)))
            result.append(row + dense(layer.second, condition[v] * hidden))
        x = result
    return np.array(
        [dense(networks.head, c * norm(row)) for c, row in zip(condition, x, strict=True)]
    )


@pytest.mark.parametrize(
    "change", [{}, {"superposition": False}, {"layers": 0}, {"segment": 100}, {"segment": 1}]
)
def test_the_networks_are_the_slow_ones(change: dict[str, object]) -> None:
    made = policy(motley(), **change)
    assert made.logits().numpy() == pytest.approx(slow_logits(made), rel=1e-3, abs=1e-4)


def test_a_segment_does_not_learn_through_the_one_before() -> None:
    made = policy(layers=1)
    with tf.GradientTape() as tape:
        embedded = made.networks.network(made.told)
        tape.watch(embedded)
        made.networks.network = lambda told: embedded  # type: ignore[assignment, return-value]
        last = tf.reduce_sum(made.logits()[4:] ** 2)
    gradient = tf.convert_to_tensor(tape.gradient(last, embedded)).numpy()
    assert (gradient[:4] == 0).all()
    assert (np.abs(gradient[4:]).max(axis=1) > 0).all()


def test_the_gain_is_clipped_where_it_would_grow() -> None:
    ratio, gains = np.array([0.5, 0.9, 1.1, 1.5] * 2), np.array([1.0] * 4 + [-1.0] * 4)
    found = clipped(tf.constant(ratio), tf.constant(gains), 0.2).numpy()
    assert found.tolist() == [0.5, 0.9, 1.1, 1.2, -0.8, -0.9, -1.1, -1.5]


def test_the_gradient_is_that_of_finite_differences() -> None:
    made = policy()
    rng = np.random.default_rng(3)
    sample = made.sample(rng, 0)
    old = sample.shared["chances"]
    assert (old == made._chances().numpy()[np.arange(6), sample.chosen]).all()
    gains = rng.normal(size=len(sample.chosen)).astype(np.float32) / len(sample.chosen)
    [gradients, norm, _] = made._gradient(sample.chosen, old, gains, sample.chosen[0])
    bias = made.networks.head.variables[1]
    at = next(i for i, variable in enumerate(made.networks.variables) if variable is bias)

    def loss(shift: Array) -> float:
        logits = slow_logits(made) + shift
        new = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        ratio = new[np.arange(6), sample.chosen] / old
        bounded = np.clip(ratio, 0.8, 1.2)
        weight = gains[:, None]
        return -float(np.minimum(ratio * weight, bounded * weight).mean(axis=1).sum())

    step = 1e-5
    slopes = [(loss(step * e) - loss(-step * e)) / (2 * step) for e in np.eye(3)]
    assert gradients[at].numpy() == pytest.approx(slopes, rel=1e-2, abs=1e-5)
    assert float(norm) == pytest.approx(
        np.sqrt(sum(float((g.numpy() ** 2).sum()) for g in gradients)), rel=1e-4
    )


# The gradient is not to flow into the segment before, so that of what acts on it before the last
# layer is no finite difference: there all nodes are one segment.
@pytest.mark.parametrize(
    ("segment", "pick"),
    [
        (100, lambda networks: networks.network.embeddings),
        (100, lambda networks: networks.network.hops[0][0].variables[0]),
        (100, lambda networks: networks.network.hops[1][1].variables[0]),
        (100, lambda networks: networks.layers[0].key.variables[0]),
        (100, lambda networks: networks.layers[0].first.variables[0]),
        (4, lambda networks: networks.layers[1].query.variables[0]),
        (4, lambda networks: networks.layers[1].value.variables[0]),
        (100, lambda networks: networks.conditioner.variables[0]),
    ],
    ids=["types", "aggregate", "combine", "key", "first", "query", "value", "conditioner"],
)
def test_the_gradient_within_the_networks_is_that_of_finite_differences(
    segment: int, pick: Callable[[Networks], tf.Variable]
) -> None:
    made = policy(motley(), segment=segment)
    drawn, rng = np.random.default_rng(6), np.random.default_rng(3)
    for variable in made.networks.variables:  # so that attention depends on whom it sees
        variable.assign(drawn.normal(0, 0.5, variable.shape))
    sample = made.sample(rng, 0)
    # As in a later epoch: the chances have moved since, some beyond the clip.
    old = sample.shared["chances"] * np.exp(rng.normal(0, 0.3, sample.chosen.shape))
    gains = rng.normal(size=len(sample.chosen)).astype(np.float32) / len(sample.chosen)
    [gradients, _, _] = made._gradient(
        sample.chosen, old.astype(np.float32), gains, sample.chosen[0]
    )
    weight = pick(made.networks)
    at = next(i for i, variable in enumerate(made.networks.variables) if variable is weight)

    def loss() -> tuple[float, int]:
        logits = slow_logits(made)
        new = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        ratio = new[np.arange(6), sample.chosen] / old
        given, bounded = ratio * gains[:, None], np.clip(ratio, 0.8, 1.2) * gains[:, None]
        lost = -float(np.minimum(given, bounded).mean(axis=1).sum())
        return lost, int((bounded < given).sum())

    assert 0 < loss()[1] < sample.chosen.size
    before = weight.numpy()
    found = tf.convert_to_tensor(gradients[at]).numpy()
    told, slopes = list[float](), list[float]()
    for entry in rng.permutation(before.size)[:12]:
        ends = []
        for step in (-1e-5, 1e-5):
            moved = before.copy()
            moved.flat[entry] += step
            weight.assign(moved)
            ends.append((float(moved.flat[entry]), loss()[0]))
        [(low, below), (high, above)] = ends
        told.append(float(found.flat[entry]))
        slopes.append((above - below) / (high - low))
    assert np.abs(slopes).max() > 1e-3
    np.testing.assert_allclose(told, slopes, rtol=1e-2, atol=1e-5)


def test_the_baseline_is_the_average_of_all_trials_before() -> None:
    baseline, valid = AllTrials(0.0, 0), np.ones(2, np.bool_)
    first = baseline.credit(np.array([-1.0, -3.0]), valid, 0)
    assert first.samples.tolist() == [0.5, -0.5]
    second = baseline.credit(np.array([-1.0, -1.0]), valid, 1)
    assert second.samples.tolist() == [0.5, 0.5]
    assert baseline.value == -1.5
    third = baseline.credit(np.array([-1.5, -0.5]), valid, 2)
    assert third.samples.tolist() == [0.0, 0.5]


def test_groups_are_placed_as_one() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0)
    settings = GDPTuned(**SMALL, groups=2, updates=2)
    placement = settings.place(problem, search)
    assert search.notes["nodes"] == 2
    assert len(set(placement.devices.tolist())) <= 2
    assert search.evaluations == 20


def tuned(alone: bool, **change: float) -> Policy:
    """On the six operations, each of which takes 0.5 s on the CPU and 0.1 s on either GPU."""
    graph = ClassGraph(six_ops())
    settings = GDPTuned(**SMALL, **change)
    networks = Networks.of([graph], settings, np.random.default_rng(0))
    return settings.policy_of(graph, np.arange(graph.count), networks, alone)


@pytest.mark.parametrize("alone", [True, False])
def test_a_device_begins_as_likely_as_it_is_fast(alone: bool) -> None:
    chances = tf.nn.softmax(tuned(alone).logits()).numpy()
    assert chances == pytest.approx(np.tile([1 / 11, 5 / 11, 5 / 11], (6, 1)))


def test_a_head_start_is_bounded() -> None:
    logits = tuned(alone=True, head_start=0.5).logits().numpy()
    # The three logits differ by log 5; the CPU's, two thirds of that below the mean, is bounded.
    assert logits[0] == pytest.approx([-0.5, 0.5, 0.5])
    assert tuned(alone=True, head_start=0.0).logits().numpy() == pytest.approx(np.zeros((6, 3)))


def test_the_table_belongs_to_one_graph_alone() -> None:
    networks_only = len(tuned(alone=False).variables)
    assert len(tuned(alone=True).variables) == networks_only + 1
    assert len(tuned(alone=True, table=0.0).variables) == networks_only


def test_the_table_tells_apart_what_looks_alike() -> None:
    made = tuned(alone=True, table=3.0)
    moved = np.zeros((6, 3), np.float32)
    moved[0, 1] = 2.0
    before = made.logits().numpy()
    made.variables[-1].assign(moved)
    assert made.logits().numpy() - before == pytest.approx(3.0 * moved)


def test_softening_counts_the_head_start() -> None:
    made = tuned(alone=True)
    divisor = made.soften(0.999)
    logits = made.logits().numpy().astype(np.float64)
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    entropy = -(chances * np.log(chances)).sum(axis=1).mean()
    assert divisor > 1
    assert entropy == pytest.approx(0.999 * np.log(3), rel=1e-4)


@pytest.mark.parametrize("wrong", [{"head_start": -1.0}, {"table": -1.0}, {"groups": 0}])
def test_what_is_added_to_logits_is_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        GDPTuned(**wrong)


def test_heads_share_the_width() -> None:
    with pytest.raises(InputError, match="width 6 is no multiple of 4 heads"):
        GDP(width=6)
