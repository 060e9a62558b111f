"""Placeto as released: its entropy bonus by finite differences, its one start, its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fan import fan
from numpy.typing import NDArray
from six_ops import six_ops

from planners.features.merged_groups import MergedGroups
from planners.nn.tensor import Tensor
from planners.placeto import Episode
from planners.placeto_released import (
    PlacetoReleased,
    ReleasedEpisodes,
    ReleasedNetworks,
    ReleasedPolicy,
)
from suite.core.errors import InputError
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator

Array = NDArray[np.float64]


def policy_of(graph: MergedGroups, seed: int = 0) -> ReleasedPolicy:
    return ReleasedPolicy(graph, ReleasedNetworks.of(graph, np.random.default_rng(seed), 1))


def test_layers_are_as_wide_as_a_node_has_features_and_multiples() -> None:
    networks = policy_of(MergedGroups.of(fan(), 128)).networks
    widths = {variable.shape[-1] for variable in networks.variables}
    # Seven features on three devices: messages of 7, summaries of 14, a classifier of 112 and 56.
    assert widths == {7, 14, 112, 56, 3}


def dense(layers: Any, x: Array) -> Array:
    """Layers of float64, a rectifier between each two."""
    values = [np.asarray(v, np.float64) for v in layers.variables]
    for i, (weights, bias) in enumerate(zip(values[::2], values[1::2], strict=True)):
        x = (np.maximum(0, x) if i else x) @ weights + bias
    return x


def relu(x: Array) -> Array:
    return np.maximum(0, x)


def slow(networks: ReleasedNetworks, graph: MergedGroups, features: Array, current: int) -> Array:
    """The same logits, node by node."""
    count = graph.count
    start = [dense(networks.enter, features[v]) for v in range(count)]
    ways = []
    for (f, g), reads in zip(networks.messages, (graph.reads.T, graph.reads), strict=True):
        x = list(start)
        for _ in range(networks.rounds):
            sent, after = [relu(dense(f, one)) for one in x], list(start)
            for v in range(count):
                if len(asked := np.flatnonzero(reads[v])):
                    after[v] = start[v] + relu(dense(g, np.mean([sent[u] for u in asked], axis=0)))
            x = after
        ways.append(x)
    embedding = [np.concatenate(pair) for pair in zip(*ways, strict=True)]
    found = [embedding[current]]
    leads, led = graph.reaches[:, current], graph.reaches[current]
    beside = ~(leads | led)
    beside[current] = False
    for (g, h), region in zip(networks.summaries, (leads, led, beside), strict=True):
        seen = [relu(dense(g, embedding[u])) for u in np.flatnonzero(region)]
        of = np.mean(seen, axis=0) if seen else np.zeros(len(embedding[0]))
        found.append(relu(dense(h, of)))
    return dense(networks.choose, np.concatenate(found))


@pytest.mark.usefixtures("uncompiled")
def test_the_network_is_the_slow_one_whatever_its_biases() -> None:
    graph = MergedGroups.of(fan(), 128)
    rng = np.random.default_rng(5)
    networks = ReleasedNetworks.of(graph, rng, 3)
    for variable in networks.variables:
        variable.assign(rng.normal(0.0, 0.5, variable.shape).astype(np.float32))
    policy = ReleasedPolicy(graph, networks)
    features = policy.state(np.array([0, 1, 2, 0, 1, 2])).features()
    for current in range(graph.count):
        fast = policy.logits(features[None], np.array([current])).numpy()[0]
        assert fast == pytest.approx(slow(networks, graph, features, current), rel=1e-4, abs=1e-4)


@pytest.mark.usefixtures("uncompiled")
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_an_update_follows_the_gain_and_the_entropy_summed_over_steps(weight: float) -> None:
    graph = MergedGroups.of(fan(), 128)
    policy = policy_of(graph, seed=3)
    state, episode = policy.state(np.array([0, 1, 2, 0, 1, 2])), Episode()
    for action in (1, 0, 2):
        episode.features.append(state.features())
        episode.actions.append(action)
        state.step(action)
    advantages = np.array([0.5, -1.0, 2.0])
    bias = policy.networks.last[-1]

    def goal() -> float:
        found = 0.0
        for i, features in enumerate(episode.features):
            logits = policy.logits(features[None], np.array([i])).numpy()[0].astype(np.float64)
            chances = np.exp(logits) / np.exp(logits).sum()
            entropy = -(chances * np.log(chances + 1e-3)).sum()
            found += np.log(chances[episode.actions[i]]) * advantages[i] + weight * entropy
        return float(found)

    slopes, start, step = [], bias.numpy(), 1e-2
    for i in range(3):
        ends = []
        for sign in (1, -1):
            bias.assign(start + sign * step * np.eye(3, dtype=np.float32)[i])
            ends.append(goal())
        bias.assign(start)
        slopes.append((ends[0] - ends[1]) / (2 * step))

    def gradient(clip: float) -> tuple[list[Tensor], float]:
        found, norm, _ = policy._summed_gradient(
            np.stack(episode.features),
            np.arange(3),
            np.array(episode.actions),
            advantages.astype(np.float32),
            np.float32(weight),
            np.float32(clip),
        )
        return found, float(norm)

    gradients, norm = gradient(1e9)
    own = [v is bias for v in policy.optimizer.variables].index(True)
    assert -gradients[own].numpy() == pytest.approx(slopes, rel=1e-2, abs=1e-3)
    assert norm > 0.125
    clipped = sum((g.numpy() ** 2).sum() for g in gradient(0.125)[0])
    assert np.sqrt(clipped) == pytest.approx(0.125, rel=1e-3)


def test_a_bonus_keeps_the_choices_open() -> None:
    """With a large weight, what gains nothing stays as likely as anything else."""
    problem, left = six_ops(), {}
    graph = MergedGroups.of(problem, 128)
    policy = policy_of(graph)  # compiled once, for both
    start = policy.optimizer.state()
    for weight in (0.0, 20.0):
        policy.optimizer.restore(start)
        settings = PlacetoReleased(entropy=weight, last_entropy=weight, rounds=1, episodes=150)
        ReleasedEpisodes(settings, policy, Search(problem, Simulator(problem), 0)).run()
        chances = policy.chances(policy.state(np.zeros(graph.count, np.int64)))
        left[weight] = -float((chances * np.log(chances)).sum())
    assert left[20.0] > 0.9 * np.log(2) > 0
    assert left[20.0] > left[0.0]


def test_all_episodes_begin_where_the_first_did() -> None:
    policy = policy_of(MergedGroups.of(fan(), 128))
    first = policy.state(np.array([2, 1, 0, 2, 1, 0]))
    first.step(0)
    again = policy.state(np.array([0, 0, 0, 0, 0, 0]))
    assert again.devices.tolist() == [2, 1, 0, 2, 1, 0]


def test_a_placement_costs_ten_seconds_at_most() -> None:
    problem = six_ops(gpu="3.5 kB")
    search, graph = Search(problem, Simulator(problem), 0), MergedGroups.of(problem, 128)
    episodes = ReleasedEpisodes(PlacetoReleased(memory_penalty=1e12), policy_of(graph), search)
    assert episodes.cost(Simulator(problem)(np.ones((1, 6), np.int32))) == 10.0


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"entropy": -1.0}, "entropy is -1.0; give a number >= 0"),
        ({"last_entropy": float("nan")}, "last_entropy is nan"),
        ({"clip": 0.0}, "clip"),
        ({"reward": "none"}, "reward"),
    ],
)
def test_settings_that_mean_nothing_are_refused(setting: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as refusal:
        PlacetoReleased(**setting)  # type: ignore[arg-type]
    assert words in str(refusal.value)
