"""Placeto: its groups and states by hand, its network against a slow one, its rewards."""

from __future__ import annotations

import numpy as np
import pytest
from fan import fan
from numpy.typing import NDArray
from six_ops import six_ops

from planners.features.merged_groups import MergedGroups
from planners.nn.message_passing import MessagePassing, Perceptron
from planners.placeto import Episode, Episodes, Placeto, Policy, State
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

pytestmark = pytest.mark.usefixtures("uncompiled")
Array = NDArray[np.float64]


def test_all_groups_stay_where_enough_are_allowed() -> None:
    graph = MergedGroups.of(fan(), 128)
    assert graph.of_class.tolist() == [0, 1, 2, 3, 4, 5]
    assert graph.seconds == pytest.approx([0.5, 0.1, 0.2, 0.3, 0.4, 0.6])
    assert graph.output_bytes.tolist() == [100, 50, 100, 0, 0, 0]
    assert np.argwhere(graph.reads).tolist() == [
        [0, 1],
        [0, 2],
        [0, 3],
        [1, 4],
        [1, 5],
        [2, 4],
        [2, 5],
    ]
    assert graph.reaches.sum(axis=1).tolist() == [5, 2, 2, 0, 0, 0]


def test_the_cheapest_group_joins_the_one_it_exchanges_most_with() -> None:
    # b (0.1 s) exchanges 100 bytes with a and 50 each with e and f; then c (0.2 s) 100 with a.
    assert MergedGroups.of(fan(), 5).of_class.tolist() == [0, 0, 1, 2, 3, 4]
    merged = MergedGroups.of(fan(), 4)
    assert merged.of_class.tolist() == [0, 0, 0, 1, 2, 3]
    assert merged.seconds == pytest.approx([0.8, 0.3, 0.4, 0.6])
    assert MergedGroups.of(fan(), 1).of_class.tolist() == [0] * 6


def test_groups_that_exchange_nothing_join_the_next_cheapest() -> None:
    graph = OpGraph.create(
        "apart",
        ["a", "b", "c"],
        ["MatMul"] * 3,
        producer=[],
        consumers=[],
        seconds={"cpu": [1.0, 2, 3], "gpu": [0.3, 0.1, 0.2]},
    )
    problem = Problem.create(graph, six_ops().machine)
    assert MergedGroups.of(problem, 2).of_class.tolist() == [0, 1, 1]


def test_a_state_tells_device_current_and_visited() -> None:
    state = State(MergedGroups.of(fan(), 128), np.array([0, 1, 2, 0, 0, 0]), 3)
    assert state.step(0) is False
    assert state.step(2) is True
    features = state.features()
    assert features[:3].tolist() == pytest.approx(
        np.array(
            [[5 / 6, 1, 1, 0, 0, 0, 1], [1 / 6, 0.5, 0, 0, 1, 0, 1], [1 / 3, 1, 0, 0, 1, 1, 0]]
        )
    )


def policy_of(
    graph: MergedGroups, width: int = 4, rounds: int = 1, seed: int = 0, known: int = 3
) -> Policy:
    rng = np.random.default_rng(seed)
    return Policy(graph, MessagePassing(rng, 4 + known, known, width, rounds))


def slow(networks: MessagePassing, graph: MergedGroups, features: Array, current: int) -> Array:
    """The same logits, node by node."""

    def perceptron(layers: Perceptron, x: Array) -> Array:
        a, b, c, d = (np.asarray(v, np.float64) for v in layers.variables)
        return np.maximum(0, x @ a + b) @ c + d

    def mean(rows: list[Array], like: Array) -> Array:
        return np.mean(rows, axis=0) if rows else np.zeros_like(like)

    def relu(x: Array) -> Array:
        return np.maximum(0, x)

    count = graph.count
    start = [relu(perceptron(networks.enter, features[v])) for v in range(count)]
    ways = []
    for (f, g), reads in zip(networks.messages, (graph.reads.T, graph.reads), strict=True):
        x = list(start)
        for _ in range(networks.rounds):
            sent = [relu(perceptron(f, x[v])) for v in range(count)]
            x = [
                start[v]
                + relu(perceptron(g, mean([sent[u] for u in np.flatnonzero(reads[v])], sent[v])))
                for v in range(count)
            ]
        ways.append(x)
    embedding = [np.concatenate(pair) for pair in zip(*ways, strict=True)]
    found = [embedding[current]]
    before, after = graph.reaches[:, current], graph.reaches[current]
    beside = ~(before | after)
    beside[current] = False
    for (g, h), region in zip(networks.summaries, (before, after, beside), strict=True):
        seen = [relu(perceptron(g, embedding[u])) for u in np.flatnonzero(region)]
        found.append(relu(perceptron(h, mean(seen, np.zeros(networks.width)))))
    return perceptron(networks.choose, np.concatenate(found))


def test_the_network_is_the_slow_one() -> None:
    graph = MergedGroups.of(fan(), 128)
    policy = policy_of(graph, width=5, rounds=2)
    state = policy.state(np.array([0, 1, 2, 0, 1, 2]))
    for current in range(graph.count):
        state.current = current
        expected = slow(policy.networks, graph, state.features().astype(np.float64), current)
        found = policy.logits(state.features()[None], np.array([current])).numpy()[0]
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
        chances = np.exp(expected - expected.max())
        assert policy.chances(state) == pytest.approx(chances / chances.sum(), rel=1e-4)


def test_the_gradient_follows_what_was_better_than_usual() -> None:
    graph = MergedGroups.of(fan(), 128)
    policy = policy_of(graph, width=8, rounds=1, seed=1)
    state = policy.state(np.zeros(6, np.int64))
    episode = Episode([state.features()], [2], [3.0, 1.0])
    before = policy.chances(state)[2]
    policy.learn(episode, np.array([1.0]), 0.01)
    better = policy.chances(state)[2]
    policy.learn(episode, np.array([-1.0]), 0.05)
    assert policy.chances(state)[2] < better > before


def test_a_step_gains_what_the_rest_of_the_episode_saves() -> None:
    assert Episode([], [0, 1, 0], [5.0, 4.0, 6.0, 3.0]).returns().tolist() == [2, 1, 3]
    assert Episode([], [0, 1, 0], [3.0]).returns().tolist() == [-3, -3, -3]


def test_missing_memory_costs_two_seconds_a_gigabyte() -> None:
    problem = six_ops(gpu="3.5 kB")
    search, graph = Search(problem, Simulator(problem), 0), MergedGroups.of(problem, 128)
    settings = Placeto(memory_penalty=2e6)
    episodes = Episodes(settings, policy_of(graph), search)
    scores = Simulator(problem)(np.ones((1, 6), np.int32))
    missing = scores.peak_memory[0, 1] - 3500
    assert missing > 2000
    assert episodes.cost(scores) == pytest.approx(scores.step_time[0] + 2e-3 * missing)


@pytest.mark.parametrize("reward", ["intermediate", "terminal"])
def test_evaluates_what_moves_and_once_an_episode_otherwise(reward: str) -> None:
    problem = fan()
    search = Search(problem, Simulator(problem), 0)
    Placeto(reward=reward, episodes=8, rounds=1, width=4).place(problem, search)
    assert search.notes["episodes"] == 8
    if reward == "terminal":
        assert search.evaluations == 8
    else:
        # The start, and four moves: of three devices, a third of the draws is where a group is.
        assert 4 < search.evaluations / 8 < 6


def test_a_policy_of_more_devices_chooses_among_the_first_of_them() -> None:
    policy = policy_of(MergedGroups.of(fan(), 128), known=5)
    chances = policy.chances(policy.state(np.zeros(6, np.int64)))
    assert chances.shape == (3,)
    assert chances.sum() == pytest.approx(1)
