"""Placeto (Addanki et al., Learning Generalizable Device Placement Algorithms, NeurIPS 2019).

A policy visits every group of operations once and puts it on a device anew: a placement is improved
step by step rather than drawn at once. What it sees is a graph whose nodes have no names, so that a
policy is not tied to one graph: trained on some, it places others. The file follows the paper: the
settings; the state and its features; the policy, whose networks are in
planners/nn/message_passing.py (messages in both directions, then what comes before a node, after it
and beside it); an episode and its rewards; REINFORCE with a baseline for each step of an episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from planners.features.merged_groups import MergedGroups
from planners.nn.backend import tf, threads
from planners.nn.message_passing import MessagePassing
from planners.nn.tensor import Tensor
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from planners.policy_gradient.ppo import softening
from planners.policy_gradient.trained import Trained, weights_of
from suite.core.arrays import Floats, Ints
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.search.training import POLICY_FILE, Learned, Training

Matrix = NDArray[np.float32]
_FEATURES = 4
"""Numbers about a group, beside which device it is on."""
GIGABYTE = 1e9


@dataclass(frozen=True)
class Placeto:
    """The paper's settings; what only the authors' released code says, and our choices, are named.

    Nodes are the groups of ColocRL's heuristics, the cheapest merged until few are left, as in the
    paper. One episode makes an update here; the paper has eight workers.
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
    with the best reward so far. Not found in the paper; both are options of the released code."""
    rounds: int = 8
    """Rounds of messages in each direction (released code)."""
    width: int = 16
    """Units of every layer. Not found in the paper; in the released code as many as a node has
    features, and more in the classifier (placeto_released.py)."""
    learning_rate: float = 0.001
    """Adam's at the start (released code)."""
    last_rate: float = 0.0001
    """Adam's at the end, to which it falls linearly (released code)."""
    baseline_episodes: int = 10
    """So many episodes before give a step its baseline, the mean of their gains. The number is the
    released code's, where the episode itself is one of them."""
    episodes: int = 1000
    """Episodes, one update each, unless the search's budget ends before. The paper counts
    placements until the best was found: 1,600 to 94,000."""
    policy: str = field(default="", metadata=POLICY_FILE)
    """Policy file (``placebench train``) to start from, with the settings of its network. With 0
    episodes every group is visited once and put on its likeliest device: nothing is evaluated."""
    least_entropy: float = 0.75
    """Share of the largest entropy that such a policy's choices have at least, on average, when it
    is fine-tuned: its logits are divided by what that takes. One that has become certain learns
    nothing more. Not in the paper."""
    NETWORK: ClassVar[tuple[str, ...]] = ("rounds", "width")
    """The settings that weights depend on."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, reward=("intermediate", "terminal"), start=("random", "best"))
        check_counts(self, "groups", "rounds", "width", "baseline_episodes")
        check_positive(self, "learning_rate", "last_rate")
        if self.episodes < (not self.policy):
            raise InputError(f"episodes is {self.episodes}; give >= 1, or a policy")
        if not 0 <= self.least_entropy < 1:
            raise InputError(f"least_entropy is {self.least_entropy}; give a share below 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits in memory, or the last if none did.

        Raises BudgetExhausted when the budget does not allow one episode to begin, InputError for a
        policy file that does not fit.
        """
        graph = MergedGroups.of(problem, self.groups)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        search.note(groups=graph.count, threads=threads())
        if not self.policy:
            networks = self._networks(graph.classes.devices, search.rng)
            return Episodes(self, Policy(graph, networks), search).run()
        learned = Trained.load(self, self.NETWORK, problem)
        networks = learned.settings._networks(learned.devices, search.rng)
        learned.put_into(networks.variables)
        policy = Policy(graph, networks)
        start = search.rng.integers(0, graph.classes.devices, graph.count)
        if not self.episodes:
            return Placement.of(problem, policy.likeliest(start))
        search.note(logits_divided_by=policy.soften(start, self.least_entropy))
        return Episodes(learned.settings, policy, search).run()

    def train(self, training: Training) -> Learned:
        """Learn on all graphs, an episode on each in turn.

        Raises BudgetExhausted when a graph's budget does not allow one episode to begin.
        """
        graphs = [MergedGroups.of(search.problem, self.groups) for search in training.searches]
        devices = max(graph.classes.devices for graph in graphs)
        networks = self._networks(devices, training.rng)
        lessons = [
            Episodes(self, Policy(graph, networks), search)
            for graph, search in zip(graphs, training.searches, strict=True)
        ]
        learning = lessons
        while learning := [lesson for lesson in learning if lesson.step()]:
            training.checkpoint(lessons)
        for lesson in lessons:
            lesson.search.note(episodes=lesson.episode)
        return Learned((), weights_of(networks.variables))

    def _networks(self, devices: int, rng: np.random.Generator) -> MessagePassing:
        return MessagePassing(rng, _FEATURES + devices, devices, self.width, self.rounds)


class State:
    """Where an episode is: a placement, the group to be placed next, those that have been.

    The features of each node are those of section 3: its run time, the bytes that it makes, its
    device now, whether it is the current one, whether it has been visited. Run time and bytes are
    divided by their largest values, as in the released code; the paper does not say how.
    """

    def __init__(self, graph: MergedGroups, devices: Ints, known: int) -> None:
        """Begin at ``devices``, int[groups], with the first group.

        ``known`` devices are those that the policy knows, the graph's first among them.
        """
        self.graph, self.devices, self.current = graph, np.array(devices, np.int64), 0
        self.known = known
        largest = [
            max(values.max(initial=0), 1e-12) for values in (graph.seconds, graph.output_bytes)
        ]
        self._fixed = np.stack(
            [graph.seconds / largest[0], graph.output_bytes / largest[1]], axis=1
        )

    def features(self) -> Matrix:
        """float32[groups, features]."""
        groups = np.arange(self.graph.count)
        place = np.eye(self.known)[self.devices]
        flags = np.stack([groups == self.current, groups < self.current], axis=1)
        return np.concatenate([self._fixed, place, flags], axis=1).astype(np.float32)

    def step(self, device: int) -> bool:
        """Put the current group there and go on to the next; whether its device is another now."""
        moved = bool(self.devices[self.current] != device)
        self.devices[self.current] = device
        self.current += 1
        return moved


class Policy:
    """The networks on one graph: from a state to the chances of devices for its current group."""

    def __init__(self, graph: MergedGroups, networks: MessagePassing) -> None:
        """Note who is whose neighbour (section 3.1)."""
        self.graph, self.networks, self.optimizer = graph, networks, networks.optimizer
        reads, reaches = graph.reads, graph.reaches
        beside = ~(reaches | reaches.T | np.eye(graph.count, dtype=bool))
        self.begins_likeliest = False
        self._from = [_means(reads.T), _means(reads)]
        self._regions = [_means(region) for region in (reaches.T, reaches, beside)]
        self._logits = tf.function(self.logits, autograph=False, reduce_retracing=True)
        self._gradient = tf.function(self._loss_gradient, autograph=False, reduce_retracing=True)

    def logits(self, features: Tensor, current: Tensor) -> Tensor:
        """float32[states, devices] of float32[states, groups, features] and int64[states]."""
        found = self.networks(features, current, self._from, self._regions)
        logits: Tensor = found[:, : self.graph.classes.devices]
        return logits

    def state(self, devices: Ints) -> State:
        """Where an episode begins: the groups at ``devices``, int[groups]."""
        return State(self.graph, devices, self.networks.options)

    def chances(self, state: State) -> Floats:
        """float64[devices], summing to 1."""
        logits = self._of_current(state)
        chances = np.exp(logits - logits.max())
        return np.asarray(chances / chances.sum(), np.float64)

    def likeliest(self, devices: Ints) -> NDArray[np.int32]:
        """int32[ops]: every group visited once, from ``devices``, and put where it is likeliest."""
        state, _ = self._likeliest(devices)
        return np.asarray(self.graph.placed(state.devices[None])[0], np.int32)

    def soften(self, devices: Ints, share: float) -> float:
        """Divide the logits until the mean entropy is so much of the largest; return by what.

        The mean is over the groups of a visit that takes the likeliest device each time, from
        ``devices``, int[groups]. The first episode will take the likeliest devices, too.
        """
        self.begins_likeliest = True
        divisor = softening(self._likeliest(devices)[1], share)
        for variable in self.networks.last:
            variable.assign(variable / divisor)
        return divisor

    def _likeliest(self, devices: Ints) -> tuple[State, Floats]:
        """Where such a visit ends, and the logits on its way, float64[groups, devices]."""
        state, found = self.state(devices), []
        for _ in range(self.graph.count):
            found.append(self._of_current(state))
            state.step(int(np.argmax(found[-1])))
        return state, np.stack(found)

    def _of_current(self, state: State) -> Floats:
        """The logits of an episode's current group: float64[devices]."""
        current = np.array([state.current], np.int64)
        logits = self._logits(state.features()[None], current).numpy()[0]
        return np.asarray(logits, np.float64)

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


class Episodes:
    """Episodes until the budget is spent; can be stopped after one and taken up again."""

    def __init__(self, settings: Placeto, policy: Policy, search: Search) -> None:
        """Start afresh, or from the search's checkpoint."""
        self.settings, self.policy, self.search = settings, policy, search
        self.graph = policy.graph
        self.budget = search.remaining
        self.episode, self.past = 0, np.zeros((0, self.graph.count))
        self.best, self.best_cost = np.zeros(self.graph.count, np.int64), np.inf
        self.last: NDArray[np.int32] | None = None
        saved = search.restore()
        if saved is not None:
            self._restore(saved)

    def run(self) -> Placement:
        """Learn; return the best placement met."""
        while self.step():
            pass
        self.search.note(episodes=self.episode)
        if self.search.best is not None:
            return self.search.best
        assert self.last is not None
        return Placement.of(self.search.problem, self.last)

    def step(self) -> bool:
        """Make one update; False when there is nothing left to make it with.

        Raises BudgetExhausted when not even one placement could be evaluated.
        """
        if self.episode >= self.settings.episodes:
            return False
        try:
            self._improve(self._visit())
        except BudgetExhausted:
            if self.last is None:
                raise
            return False
        return True

    def save(self) -> None:
        """Hand the search's state to its checkpoint."""
        self.search.checkpoint(self._state)

    def _visit(self) -> Episode:
        """Place every group once."""
        rng, stepwise = self.search.rng, self.settings.reward == "intermediate"
        start = rng.integers(0, self.graph.classes.devices, self.graph.count)
        if self.settings.start == "best" and np.isfinite(self.best_cost):
            start = self.best
        state, episode = self.policy.state(start), Episode()
        certain = self.policy.begins_likeliest and not self.episode
        if stepwise:
            episode.costs.append(self._cost(state.devices))
        for _ in range(self.graph.count):
            episode.features.append(state.features())
            chances = self.policy.chances(state)
            drawn = int(rng.choice(len(chances), p=chances))
            action = int(np.argmax(chances)) if certain else drawn
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
        self.save()

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
