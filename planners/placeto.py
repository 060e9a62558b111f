"""Placeto (Addanki et al., Learning Generalizable Device Placement Algorithms, NeurIPS 2019).

A policy visits every group of operations once and puts it on a device anew: a placement is improved
step by step rather than drawn at once. What it sees is a graph whose nodes have no names, so that a
policy is not tied to one graph. The file follows the paper: the settings; the state and its
features; the embedding of the graph (messages in both directions, then what comes before a node,
after it and beside it); the policy; an episode and its rewards; REINFORCE with a baseline for each
step of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planners.features.merged_groups import MergedGroups
from planners.nn.backend import tf, threads
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from suite.core.arrays import Floats, Ints
from suite.core.errors import BudgetExhausted
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

Matrix = NDArray[np.float32]
GIGABYTE = 1e9


@dataclass(frozen=True)
class Placeto:
    """The paper's settings; what only the authors' released code says, and our choices, are named.

    Nodes are the groups of ColocRL's heuristics, the cheapest merged until few are left, as in the
    paper.
    """

    groups: int = 128
    """Nodes at most: the paper's number for two of its three families of graphs."""
    reward: str = "intermediate"
    """``intermediate``: every step gains what the step time falls by, which costs an evaluation for
    each group that moves; ``terminal``: only the last one gains anything, minus the step time,
    which costs one evaluation an episode. The paper describes both."""
    memory_penalty: float = 2.0
    """Seconds that are added to the step time per GB above the memory of the fullest device. The
    paper's limit is 10.7 GB, of a K80; here each device has its own."""
    start: str = "random"
    """Placement at which an episode begins: ``random``, each group anywhere, or ``best``, the one
    with the best reward so far. Not found in the paper."""
    rounds: int = 8
    """Rounds of messages in each direction (released code)."""
    width: int = 16
    """Units of every layer. Not found."""
    learning_rate: float = 0.001
    """Adam's at the start (released code)."""
    last_rate: float = 0.0001
    """Adam's at the end, to which it falls linearly (released code)."""
    baseline_episodes: int = 10
    """So many episodes before give a step its baseline, the mean of their gains (released code)."""
    episodes: int = 1000
    """Episodes, one update each, unless the search's budget ends before. The paper counts
    placements until the best was found: 1,600 to 94,000."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, reward=("intermediate", "terminal"), start=("random", "best"))
        check_counts(self, "groups", "rounds", "width", "baseline_episodes", "episodes")
        check_positive(self, "learning_rate", "last_rate")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits in memory, or the last if none did.

        Raises BudgetExhausted when the budget does not allow one episode to begin.
        """
        graph = MergedGroups.of(problem, self.groups)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        search.note(groups=graph.count, threads=threads())
        return Training(self, graph, Policy(graph, self, search.rng), search).run()


class State:
    """Where an episode is: a placement, the group to be placed next, those that have been.

    The features of each node are those of section 3: its run time, the bytes that it makes, its
    device now, whether it is the current one, whether it has been visited. Run time and bytes are
    divided by their largest values, which the paper does not say.
    """

    def __init__(self, graph: MergedGroups, devices: Ints) -> None:
        """Begin at ``devices``, int[groups], with the first group."""
        self.graph, self.devices, self.current = graph, np.array(devices, np.int64), 0
        largest = [
            max(values.max(initial=0), 1e-12) for values in (graph.seconds, graph.output_bytes)
        ]
        self._fixed = np.stack(
            [graph.seconds / largest[0], graph.output_bytes / largest[1]], axis=1
        )

    @staticmethod
    def width(graph: MergedGroups) -> int:
        """Number of features."""
        return 4 + graph.classes.devices

    def features(self) -> Matrix:
        """float32[groups, features]."""
        groups = np.arange(self.graph.count)
        place = np.eye(self.graph.classes.devices)[self.devices]
        flags = np.stack([groups == self.current, groups < self.current], axis=1)
        return np.concatenate([self._fixed, place, flags], axis=1).astype(np.float32)

    def step(self, device: int) -> bool:
        """Put the current group there and go on to the next; whether its device is another now."""
        moved = bool(self.devices[self.current] != device)
        self.devices[self.current] = device
        self.current += 1
        return moved


class Layers:
    """A perceptron of one hidden layer, with rectifiers."""

    def __init__(self, rng: np.random.Generator, inputs: int, hidden: int, outputs: int) -> None:
        """Draw weights."""
        self.variables: list[Variable] = [
            *(glorot("hidden", rng, inputs, hidden), zeros("hidden bias", hidden)),
            *(glorot("out", rng, hidden, outputs), zeros("out bias", outputs)),
        ]

    def __call__(self, x: Tensor) -> Tensor:
        """float32[..., outputs] of float32[..., inputs], before any rectifier."""
        hidden, hidden_bias, out, out_bias = self.variables
        y: Tensor = tf.matmul(tf.nn.relu(tf.matmul(x, hidden) + hidden_bias), out) + out_bias
        return y


class Policy:
    """The network: from a state to the chances of devices for its current group.

    Messages (section 3.1): x <- x0 + g(sum over producers, or over readers, of f(x)), some rounds
    each, with networks of their own for either direction. Summaries: h(sum of g) over all groups
    that lead to the current one, that it leads to, and the others. Sums are means here: after eight
    rounds of sums the first logits are 10^4 to 10^7, and the policy is certain before it learns.
    """

    def __init__(self, graph: MergedGroups, settings: Placeto, rng: np.random.Generator) -> None:
        """Draw the weights."""
        width = settings.width
        self.rounds, self.devices, self._width = settings.rounds, graph.classes.devices, width
        self._enter = Layers(rng, State.width(graph), width, width)
        self._messages = [[Layers(rng, width, width, width) for _ in "fg"] for _ in "du"]
        self._summaries = [
            [Layers(rng, 2 * width, width, width), Layers(rng, width, width, width)]
            for _ in ("before", "after", "beside")
        ]
        self._choose = Layers(rng, 2 * width + 3 * width, width, self.devices)
        reads, reaches = graph.reads, graph.reaches
        beside = ~(reaches | reaches.T | np.eye(graph.count, dtype=bool))
        self._from = [_means(reads.T), _means(reads)]
        self._regions = [_means(region) for region in (reaches.T, reaches, beside)]
        parts = [self._enter, self._choose]
        for pair in [*self._messages, *self._summaries]:
            parts += pair
        self.optimizer = Optimizer([variable for part in parts for variable in part.variables])
        self._logits = tf.function(self.logits, autograph=False, reduce_retracing=True)
        self._gradient = tf.function(self._loss_gradient, autograph=False, reduce_retracing=True)

    def logits(self, features: Tensor, current: Tensor) -> Tensor:
        """float32[states, devices] of float32[states, groups, features] and int64[states]."""
        start = tf.nn.relu(self._enter(features))
        ways = []
        for (f, g), neighbours in zip(self._messages, self._from, strict=True):
            x = start
            for _ in range(self.rounds):
                x = start + tf.nn.relu(g(tf.matmul(neighbours, tf.nn.relu(f(x)))))
            ways.append(x)
        embedding = tf.concat(ways, axis=2)
        found = [tf.gather(embedding, current, axis=1, batch_dims=1)]
        for (g, h), region in zip(self._summaries, self._regions, strict=True):
            rows = tf.gather(region, current)[:, None]
            found.append(tf.nn.relu(h(tf.matmul(rows, tf.nn.relu(g(embedding)))))[:, 0])
        chosen: Tensor = self._choose(tf.concat(found, axis=1))
        return chosen

    def chances(self, state: State) -> Floats:
        """float64[devices], summing to 1."""
        current = np.array([state.current], np.int64)
        logits = self._logits(state.features()[None], current).numpy()[0].astype(np.float64)
        chances = np.exp(logits - logits.max())
        return np.asarray(chances / chances.sum(), np.float64)

    def learn(self, episode: Episode, advantages: Floats, rate: float) -> dict[str, float]:
        """Follow the policy gradient of an episode's steps once; return what to log."""
        gradients, norm, entropy = self._gradient(
            np.stack(episode.features),
            np.arange(len(episode.features)),
            np.array(episode.actions, np.int64),
            advantages.astype(np.float32),
        )
        self.optimizer.apply(list(gradients), rate)
        return {"gradient_norm": float(norm), "entropy": float(entropy)}

    def _loss_gradient(
        self, features: Tensor, current: Tensor, actions: Tensor, advantages: Tensor
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        with tf.GradientTape() as tape:
            log_chances = tf.nn.log_softmax(self.logits(features, current))
            taken = tf.gather(log_chances, actions, axis=1, batch_dims=1)
            loss = -tf.reduce_mean(taken * advantages)
        gradients = tape.gradient(loss, self.optimizer.variables)
        entropy = -tf.reduce_sum(tf.exp(log_chances) * log_chances, axis=1)
        return gradients, tf.linalg.global_norm(gradients), tf.reduce_mean(entropy)


def _means(pairs: NDArray[np.bool_]) -> Matrix:
    """Rows that take the mean over the columns which are true: float32[groups, groups]."""
    return np.asarray(pairs / np.maximum(1, pairs.sum(axis=1, keepdims=True)), np.float32)


@dataclass
class Episode:
    """What happened while each group was visited once."""

    features: list[Matrix] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    """Seconds with penalty: of the start, then after every step that was judged."""

    def returns(self) -> Floats:
        """float64[steps]: what is gained from each step on."""
        costs = np.array(self.costs)
        if len(costs) == 1:
            return np.full(len(self.actions), -costs[0])
        return np.asarray(costs[:-1] - costs[-1], np.float64)


class Training:
    """Episodes until the budget is spent; can be stopped after one and taken up again."""

    def __init__(
        self, settings: Placeto, graph: MergedGroups, policy: Policy, search: Search
    ) -> None:
        """Start afresh, or from the search's checkpoint."""
        self.settings, self.graph, self.policy, self.search = settings, graph, policy, search
        self.budget = search.remaining
        self.episode, self.past = 0, np.zeros((0, graph.count))
        self.best, self.best_cost = np.zeros(graph.count, np.int64), np.inf
        self.last: NDArray[np.int32] | None = None
        saved = search.restore()
        if saved is not None:
            self._restore(saved)

    def run(self) -> Placement:
        """Train; return the best placement met."""
        try:
            while self.episode < self.settings.episodes:
                self._improve(self._visit())
        except BudgetExhausted:
            if self.last is None:
                raise
        self.search.note(episodes=self.episode)
        if self.search.best is not None:
            return self.search.best
        assert self.last is not None
        return Placement.of(self.search.problem, self.last)

    def _visit(self) -> Episode:
        """Place every group once."""
        rng, stepwise = self.search.rng, self.settings.reward == "intermediate"
        start = rng.integers(0, self.graph.classes.devices, self.graph.count)
        if self.settings.start == "best" and np.isfinite(self.best_cost):
            start = self.best
        state, episode = State(self.graph, start), Episode()
        if stepwise:
            episode.costs.append(self._cost(state.devices))
        for _ in range(self.graph.count):
            episode.features.append(state.features())
            chances = self.policy.chances(state)
            action = int(rng.choice(len(chances), p=chances))
            episode.actions.append(action)
            moved = state.step(action)
            if stepwise:
                # A group that stays leaves the placement as it was: that is not judged again.
                episode.costs.append(self._cost(state.devices) if moved else episode.costs[-1])
        if not stepwise:
            episode.costs.append(self._cost(state.devices))
        return episode

    def _cost(self, devices: Ints) -> float:
        """Seconds of a placement of the groups, int[groups], with the penalty for memory."""
        self.last = self.graph.placed(devices[None])[0]
        cost = self.cost(self.search.evaluate(self.last[None]))
        if cost < self.best_cost:
            self.best, self.best_cost = np.array(devices), cost
        return cost

    def cost(self, scores: Scores) -> float:
        """Step time of one placement, and the penalty for what its fullest device lacks."""
        over = (scores.peak_memory - self.search.problem.machine.memory).max() / GIGABYTE
        return float(scores.step_time[0] + self.settings.memory_penalty * max(0.0, float(over)))

    def _improve(self, episode: Episode) -> None:
        """Make one update."""
        settings, returns = self.settings, episode.returns()
        baseline = self.past.mean(axis=0) if len(self.past) else returns
        self.past = np.concatenate([self.past, returns[None]])[-settings.baseline_episodes :]
        spent = max(self.episode / settings.episodes, self.search.evaluations / self.budget)
        rate = settings.learning_rate + spent * (settings.last_rate - settings.learning_rate)
        scalars = self.policy.learn(episode, returns - baseline, rate)
        self.episode += 1
        self.search.log(self.episode, reward=-episode.costs[-1], **scalars)
        self.search.checkpoint(self._state)

    def _state(self) -> dict[str, NDArray[np.generic]]:
        assert self.last is not None
        return {
            "episode": np.array(self.episode),
            "past": self.past,
            "best": self.best,
            "best_cost": np.array(self.best_cost),
            "last": self.last,
            **{f"policy/{name}": array for name, array in self.policy.optimizer.state().items()},
        }

    def _restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        self.episode, self.best_cost = int(saved["episode"]), float(saved["best_cost"])
        self.past = np.asarray(saved["past"], np.float64)
        self.best = np.asarray(saved["best"], np.int64)
        self.last = np.asarray(saved["last"], np.int32)
        weights = {
            k.removeprefix("policy/"): v for k, v in saved.items() if k.startswith("policy/")
        }
        self.policy.optimizer.restore(weights)
