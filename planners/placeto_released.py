"""Placeto as its authors' code has it, where that differs from what the paper says of it.

From github.com/aravic/generalizable-device-placement, ``model/``: the values that its options have
if none is given, and what its ``hyperparameters.txt``, "only a sample", gives instead. Which of
them made the paper's tables is not known. The file has what is other than in placeto.py: the
settings, the networks, the policy and its update, the episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.features.merged_groups import MergedGroups
from planners.nn.backend import tf, threads
from planners.nn.message_passing import MessagePassing, Perceptron
from planners.nn.optimizer import Optimizer
from planners.nn.perceptron import Perceptron as Layers
from planners.nn.tensor import Tensor, Variable
from planners.placeto import Episode, Episodes, Placeto, Policy, State
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

_SMALL = 1e-3
"""Added to each chance before the logarithm in the entropy."""


@dataclass(frozen=True)
class PlacetoReleased:
    """The released code's settings.

    Left out: 4 to 8 workers whose gradients are added, an episode of likeliest devices every 999,
    and among a group's features the time at which it started in the last simulation, which what
    judges a placement here does not tell (nor do the released code's asynchronous simulators). Sums
    over neighbours and regions are means, as in ``placeto``.
    """

    groups: int = 128
    """Nodes at most, as in the paper."""
    reward: str = "intermediate"
    """As ``placeto``'s; ``terminal`` begins at random here, where the released code asks that all
    episodes begin on the first device."""
    memory_penalty: float = 2.0
    """Seconds for each GB above the memory of the fullest device (sample), which has 8 GB there and
    what the machine says here."""
    most_cost: float = 10.0
    """Seconds that a placement counts at most, penalty included."""
    rounds: int = 8
    """Rounds of messages in each direction (sample)."""
    entropy: float = 1.0
    """Weight of the entropy of each choice beside its gain in seconds, at the start."""
    last_entropy: float = 1.0
    """That weight at the end, to which it goes linearly. By its options it may fall to 0, and does
    so after 10^9 updates if nothing is given, which is never."""
    clip: float = 1.25
    """Largest norm of an update's gradient, which is summed over the steps of an episode."""
    learning_rate: float = 0.001
    """Adam's at the start (sample)."""
    last_rate: float = 0.0001
    """Adam's at the end, to which it falls linearly (sample)."""
    baseline_episodes: int = 10
    """A step's baseline is the mean of its gains in so many episodes (sample), the one that is
    learned from among them."""
    episodes: int = 1000
    """Episodes, one update each, unless the search's budget ends before. Not there: its code runs
    until it is stopped."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, reward=("intermediate", "terminal"))
        check_counts(self, "groups", "rounds", "baseline_episodes", "episodes")
        check_positive(self, "learning_rate", "last_rate", "clip", "most_cost")
        for name in ("entropy", "last_entropy"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} is {getattr(self, name)}; give a number >= 0")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement met that fits in memory, or the last if none did.

        Raises BudgetExhausted when the budget does not allow one episode to begin.
        """
        graph = MergedGroups.of(problem, self.groups)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        search.note(groups=graph.count, threads=threads())
        policy = ReleasedPolicy(graph, ReleasedNetworks.of(graph, search.rng, self.rounds))
        return ReleasedEpisodes(self, policy, search).run()


class ReleasedNetworks(MessagePassing):
    """Messages as wide as a node's features; summaries twice, the classifier 16 and 8 times."""

    @classmethod
    def of(cls, graph: MergedGroups, rng: np.random.Generator, rounds: int) -> ReleasedNetworks:
        """Draw the weights for a graph's devices."""
        devices = graph.classes.devices
        state = State(graph, np.zeros(graph.count, np.int64), devices)
        return cls(rng, state.features().shape[1], devices, rounds)

    def __init__(self, rng: np.random.Generator, width: int, options: int, rounds: int) -> None:
        """Draw the weights; ``width`` is the number of a node's features."""
        self.width, self.rounds, self.options = width, rounds, options
        twice, whole = 2 * width, 4 * 2 * width
        self.enter = Layers(rng, [width] * 4)  # type: ignore[assignment]
        self.messages = [[Perceptron(rng, width, width, width) for _ in "fg"] for _ in "du"]
        self.summaries = [
            [Perceptron(rng, twice, twice, twice) for _ in "gh"]
            for _ in ("before", "after", "beside")
        ]
        self.choose = Layers(rng, [whole, 2 * whole, whole, options])  # type: ignore[assignment]
        parts = [self.enter, self.choose]
        for pair in [*self.messages, *self.summaries]:
            parts += pair
        self.variables = [variable for part in parts for variable in part.variables]
        self.optimizer = Optimizer(self.variables)

    @property
    def last(self) -> list[Variable]:
        """The weights that the logits are proportional to."""
        return self.choose.variables[-2:]

    def __call__(
        self,
        features: Tensor,
        current: Tensor,
        neighbours: Sequence[NDArray[np.float32]],
        regions: Sequence[NDArray[np.float32]],
    ) -> Tensor:
        """Logits, as of :class:`MessagePassing`.

        Other than there, what a node is before any message keeps its sign, and a node without
        neighbours gets none (``RadialMessenger`` in ``nn_primitives.py``).
        """
        start = self.enter(features)
        ways = []
        for (f, g), means in zip(self.messages, neighbours, strict=True):
            asked = np.any(means, axis=1, keepdims=True).astype(np.float32)
            x = start
            for _ in range(self.rounds):
                x = start + asked * tf.nn.relu(g(tf.matmul(means, tf.nn.relu(f(x)))))
            ways.append(x)
        embedding = tf.concat(ways, axis=2)
        found = [tf.gather(embedding, current, axis=1, batch_dims=1)]
        for (g, h), region in zip(self.summaries, regions, strict=True):
            rows = tf.gather(region, current)[:, None]
            found.append(tf.nn.relu(h(tf.matmul(rows, tf.nn.relu(g(embedding)))))[:, 0])
        chosen: Tensor = self.choose(tf.concat(found, axis=1))
        return chosen


class ReleasedPolicy(Policy):
    """The policy; all episodes begin where the first did, at random."""

    def __init__(self, graph: MergedGroups, networks: MessagePassing) -> None:
        """Compile the update."""
        super().__init__(graph, networks)
        self.begin: Ints | None = None
        self._summed = tf.function(self._summed_gradient, autograph=False, reduce_retracing=True)

    def state(self, devices: Ints) -> State:
        """Where an episode begins: at ``devices``, int[groups], if it is the first."""
        if self.begin is None:
            self.begin = np.array(devices)
        return super().state(self.begin)

    def improve(
        self, episode: Episode, advantages: Floats, rate: float, entropy: float, clip: float
    ) -> dict[str, float]:
        """Follow the clipped gradient of an episode's steps once; return what to log."""
        gradients, norm, mean = self._summed(
            np.stack(episode.features),
            np.arange(len(episode.features)),
            np.array(episode.actions, np.int64),
            advantages.astype(np.float32),
            tf.constant(entropy, tf.float32),
            tf.constant(clip, tf.float32),
        )
        self.optimizer.apply(list(gradients), rate)
        return {"gradient_norm": float(norm), "entropy": float(mean)}

    def _summed_gradient(
        self,
        features: Tensor,
        current: Tensor,
        actions: Tensor,
        advantages: Tensor,
        weight: Tensor,
        clip: Tensor,
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        with tf.GradientTape() as tape:
            log_chances = tf.nn.log_softmax(self.logits(features, current))
            taken = tf.gather(log_chances, actions, axis=1, batch_dims=1)
            chances = tf.exp(log_chances)
            entropy = -tf.reduce_sum(chances * tf.math.log(chances + _SMALL), axis=1)
            loss = -tf.reduce_sum(taken * advantages + weight * entropy)
        gradients = tape.gradient(loss, self.optimizer.variables)
        clipped, norm = tf.clip_by_global_norm(gradients, clip)
        return clipped, norm, tf.reduce_mean(entropy)


class ReleasedEpisodes(Episodes):
    """Episodes until the budget is spent; can be stopped after one and taken up again."""

    policy: ReleasedPolicy

    def __init__(self, settings: PlacetoReleased, policy: ReleasedPolicy, search: Search) -> None:
        """Start afresh, or from the search's checkpoint."""
        self.released = settings
        shared = Placeto(
            reward=settings.reward,
            memory_penalty=settings.memory_penalty,
            baseline_episodes=settings.baseline_episodes,
            episodes=settings.episodes,
        )
        super().__init__(shared, policy, search)

    def cost(self, scores: Scores) -> float:
        """Step time of one placement with its penalty, up to a limit."""
        return min(super().cost(scores), self.released.most_cost)

    def _improve(self, episode: Episode) -> None:
        """Make one update."""
        settings, returns = self.released, episode.returns()
        self.past = np.concatenate([self.past, returns[None]])[-settings.baseline_episodes :]
        advantages = returns - self.past.mean(axis=0)
        spent = max(self.episode / settings.episodes, self.search.evaluations / self.budget)
        rate = settings.learning_rate + spent * (settings.last_rate - settings.learning_rate)
        weight = settings.entropy + spent * (settings.last_entropy - settings.entropy)
        scalars = self.policy.improve(episode, advantages, rate, weight, settings.clip)
        self.episode += 1
        self.search.log(self.episode, reward=-episode.costs[-1], **scalars)
        self.save()

    def _state(self) -> dict[str, NDArray[np.generic]]:
        assert self.policy.begin is not None
        return {**super()._state(), "begin": self.policy.begin}

    def _restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        self.policy.begin = np.asarray(saved["begin"], np.int64)
        super()._restore({name: array for name, array in saved.items() if name != "begin"})
