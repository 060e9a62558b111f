"""GDP (Zhou et al., GDP: Generalized Device Placement for Dataflow Graphs, arXiv 1910.01578, 2019).

A graph network tells each operation's surroundings, a Transformer-XL without positions looks at all
operations and gives each its devices' chances at once, PPO trains both. The file follows the paper:
the settings; the graph network (section 3.1); the placer with its segments and superposition
(sections 3.2 and 3.3); PPO (section 3). An operation is a colocation class here
(planners/features/class_graph.py), so that no placement can violate a colocation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from planners.features.tables import output_shapes, standard
from planners.nn.backend import tf, threads
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros
from planners.policy_gradient.checks import check_counts, check_positive
from planners.policy_gradient.reinforce import Reinforce, Sample
from planners.policy_gradient.rewards import Baseline, Credit, minus_root
from suite.core.arrays import Bools, Floats, Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search


@dataclass(frozen=True)
class GDP:
    """What the paper prints: the two networks, the reward, its baseline, PPO.

    It prints no number of them. All sizes, rates and counts are chosen here.
    """

    type_embedding: int = 20
    """Size of the learned embedding of an operation's type."""
    outputs: int = 1
    """Outputs of an operation whose shapes are features."""
    dimensions: int = 4
    """Dimensions of each of them."""
    width: int = 64
    """Units of every layer of both networks."""
    hops: int = 2
    """Layers of the graph network."""
    layers: int = 2
    """Layers of the Transformer; 0: chances from the graph network alone (the paper's ablation)."""
    heads: int = 4
    """Heads of its attention."""
    segment: int = 128
    """Operations that attend to each other and to as many before them."""
    superposition: bool = True
    """Whether every dense layer's input is weighted by what the graph network says."""
    samples: int = 10
    """Placements per update."""
    updates: int = 100
    """Policy updates, unless the search's budget ends before."""
    epochs: int = 2
    """Steps of gradient ascent per update."""
    clip: float = 0.2
    """How far an operation's probability ratio may move to a gain (Schulman et al. 2017)."""
    learning_rate: float = 0.001
    """Adam's."""
    failing_reward: float = -10.0
    """Reward of a placement that is out of memory (printed)."""

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing (InputError)."""
        check_counts(self, "type_embedding", "outputs", "dimensions", "width", "hops", "heads")
        check_counts(self, "segment", "samples", "updates", "epochs")
        check_positive(self, "clip", "learning_rate")
        if self.layers < 0:
            raise InputError(f"layers is {self.layers}; give >= 0")
        if self.width % self.heads:
            raise InputError(f"width {self.width} is no multiple of {self.heads} heads")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update, NativeCrash when METIS
        fails at parts.
        """
        graph = ClassGraph(problem)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        part_of = self.nodes(graph, search.rng)
        policy = Policy(graph, part_of, self, search.rng)
        search.note(nodes=policy.count, threads=threads())
        return Reinforce(policy, search, self.updates, self.reward, self.baseline()).run()

    def nodes(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """int64[classes]: which decision places each class; every class has its own."""
        return np.arange(graph.count, dtype=np.int64)

    def reward(self, scores: Scores, memory: Ints) -> Floats:
        """-sqrt(seconds), or the failing reward: float64[samples]."""
        return minus_root(scores, self.failing_reward)

    def baseline(self) -> Baseline:
        """The average reward of all trials before."""
        return AllTrials(decay=0.0, valid_only_after=0)

    def objective(self, log_chances: Tensor, best: Tensor) -> Tensor:
        """What is added to PPO's objective: nothing, in the paper."""
        nothing: Tensor = tf.zeros([])
        return nothing

    def scale(self, logits: Tensor) -> Tensor:
        """The logits as they are."""
        return logits


class AllTrials(Baseline):
    """The average reward of all trials before; of the first update, of that one."""

    def credit(self, rewards: Floats, valid: Bools, update: int) -> Credit:
        """Weights of an update's samples, from float64[samples] rewards; move the average."""
        mean = float(rewards.mean())
        before = self.value if update else mean
        self.value = (before * update + mean) / (update + 1)
        return self.weights(rewards, np.ones_like(valid), before)


class Dense:
    """A dense layer."""

    def __init__(
        self, rng: np.random.Generator, inputs: int, outputs: int, *, silent: bool = False
    ) -> None:
        """Draw weights; a ``silent`` layer starts at zeros."""
        start = zeros("w", inputs, outputs) if silent else glorot("w", rng, inputs, outputs)
        self.variables: list[Variable] = [start, zeros("b", outputs)]

    def __call__(self, x: Tensor) -> Tensor:
        """float32[..., outputs] of float32[..., inputs]."""
        weights, bias = self.variables
        y: Tensor = tf.tensordot(x, weights, 1) + bias
        return y


class GraphNetwork:
    """GraphSAGE (Hamilton et al. 2017) with the paper's aggregator.

    h_N(v) = max over neighbours u of sigmoid(W h_u + b); h_v = f(h_v, h_N(v)), f a dense layer.
    Neighbours are producers and readers alike.
    """

    def __init__(self, graph: ClassGraph, settings: GDP, rng: np.random.Generator) -> None:
        """Draw the weights."""
        kinds, width = int(graph.types.max()) + 1, settings.width
        self.count = graph.count
        self.types = np.eye(kinds, dtype=np.float32)[graph.types]
        self.shapes = standard(output_shapes(graph, settings.outputs, settings.dimensions))
        sources, targets = graph.edges
        self.senders = np.concatenate([sources, targets])
        self.receivers = np.concatenate([targets, sources])
        self.embeddings = glorot("types", rng, kinds, settings.type_embedding)
        features = settings.type_embedding + self.shapes.shape[1]
        self.enter = Dense(rng, features, width)
        self.hops = [
            (Dense(rng, width, width), Dense(rng, 2 * width, width)) for _ in range(settings.hops)
        ]

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        dense = [self.enter, *(layer for hop in self.hops for layer in hop)]
        return [self.embeddings, *(variable for layer in dense for variable in layer.variables)]

    def __call__(self) -> Tensor:
        """float32[classes, width]."""
        features = tf.concat([tf.matmul(self.types, self.embeddings), self.shapes], axis=1)
        x = tf.nn.relu(self.enter(features))
        for aggregate, combine in self.hops:
            sent = tf.gather(tf.sigmoid(aggregate(x)), self.senders)
            most = tf.math.unsorted_segment_max(sent, self.receivers, self.count)
            # Without neighbours the maximum is the least float; a sigmoid is never below 0.
            x = tf.nn.relu(combine(tf.concat([x, tf.maximum(most, 0.0)], axis=1)))
        embedded: Tensor = x
        return embedded


class Layer:
    """One layer of the Transformer: attention, then two dense layers, each added to its input."""

    def __init__(self, rng: np.random.Generator, width: int, heads: int) -> None:
        """Draw the weights."""
        self.heads = heads
        self.query, self.key, self.value, self.out, self.first, self.second = (
            Dense(rng, width, width) for _ in range(6)
        )

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        dense = (self.query, self.key, self.value, self.out, self.first, self.second)
        return [variable for layer in dense for variable in layer.variables]

    def __call__(self, x: Tensor, condition: Tensor, mask: NDArray[np.float32]) -> Tensor:
        """float32[segments, size, width] of the same; all segments at once.

        The layer below is known for every segment, so that no segment need wait for the one before:
        its keys and values stand beside a segment's own, and no gradient flows into them (segment
        recurrence of Transformer-XL, Dai et al. 2019). ``mask``, float32[segments, 1, 1, 2 size],
        is far below 0 where there is nothing.
        """
        seen = condition * normalised(x)
        before = tf.stop_gradient(tf.concat([tf.zeros_like(seen[:1]), seen[:-1]], axis=0))
        context = tf.concat([before, seen], axis=1)
        query, key, value = (
            self._split(layer(what))
            for layer, what in ((self.query, seen), (self.key, context), (self.value, context))
        )
        scale = 1 / np.sqrt(x.shape[2] // self.heads)
        attention = tf.nn.softmax(scale * tf.matmul(query, key, transpose_b=True) + mask)
        mixed = tf.transpose(tf.matmul(attention, value), [0, 2, 1, 3])
        x = x + self.out(condition * tf.reshape(mixed, tf.shape(x)))
        hidden = tf.nn.relu(self.first(condition * normalised(x)))
        result: Tensor = x + self.second(condition * hidden)
        return result

    def _split(self, x: Tensor) -> Tensor:
        """float32[segments, heads, length, width / heads] of float32[segments, length, width]."""
        segments, length, width = x.shape
        apart = tf.reshape(x, [segments, length, self.heads, width // self.heads])
        split: Tensor = tf.transpose(apart, [0, 2, 1, 3])
        return split


def normalised(x: Tensor) -> Tensor:
    """Each row with mean 0 and variance 1 (layer normalisation without weights)."""
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    result: Tensor = (x - mean) * tf.math.rsqrt(variance + 1e-6)
    return result


class Policy:
    """Both networks: the chances of devices for every node, drawn independently."""

    def __init__(
        self, graph: ClassGraph, part_of: Ints, settings: GDP, rng: np.random.Generator
    ) -> None:
        """Draw the weights; ``part_of``, int64[classes], is the node of each class."""
        self.graph, self.part_of, self.settings = graph, part_of, settings
        self.count = int(part_of.max()) + 1
        width = settings.width
        self.network = GraphNetwork(graph, settings, rng)
        self.conditioner = Dense(rng, width, width)
        self.layers = [Layer(rng, width, settings.heads) for _ in range(settings.layers)]
        # All devices alike at first: drawn weights prefer one device for all nodes from the start.
        self.head = Dense(rng, width, graph.devices, silent=True)
        self.size = min(settings.segment, self.count)
        self.segments = -(-self.count // self.size)
        self.mask = _mask(self.count, self.segments, self.size)
        # Nodes stand in topological order, as far as they have one: by the mean of their classes'.
        sums = np.bincount(part_of, graph.leaders, minlength=self.count)
        self.order = np.argsort(sums / np.bincount(part_of, minlength=self.count), kind="stable")
        self._optimizer = Optimizer(self.variables)
        self._chances = tf.function(lambda: tf.nn.softmax(self.logits()), autograph=False)
        self._ascend = tf.function(self._gradient, autograph=False)

    @property
    def variables(self) -> list[Variable]:
        """All weights that are in use."""
        parts: list[GraphNetwork | Layer | Dense] = [self.network, *self.layers, self.head]
        if self.settings.superposition:
            parts.append(self.conditioner)
        return [variable for part in parts for variable in part.variables]

    @property
    def optimizer(self) -> Optimizer:
        """Adam, with all that decides what comes next."""
        return self._optimizer

    def logits(self) -> Tensor:
        """float32[nodes, devices]."""
        x = self.network()
        if self.count < self.graph.count:
            sizes = np.bincount(self.part_of, minlength=self.count)[:, None]
            x = tf.math.unsorted_segment_sum(x, self.part_of, self.count) / np.float32(sizes)
        x = tf.gather(x, self.order)
        # Superposition (section 3.3): what the placer's dense layers read is weighted, feature by
        # feature, by what the graph network says of the node.
        condition: Tensor = tf.ones([])
        if self.settings.superposition:
            condition = 2 * tf.sigmoid(self.conditioner(x))
        if self.layers:
            x = self._attended(x, condition)
        logits = self.settings.scale(self.head(condition * normalised(x)))
        back: Tensor = tf.gather(logits, np.argsort(self.order))
        return back

    def _attended(self, x: Tensor, condition: Tensor) -> Tensor:
        """float32[nodes, width], through the Transformer, in segments."""
        missing = self.segments * self.size - self.count
        shape = [self.segments, self.size, self.settings.width]

        def cut(rows: Tensor) -> Tensor:
            filled: Tensor = tf.reshape(tf.pad(rows, [[0, missing], [0, 0]]), shape)
            return filled

        if self.settings.superposition:
            condition = cut(condition)
        x = cut(x)
        for layer in self.layers:
            x = layer(x, condition, self.mask)
        whole: Tensor = tf.reshape(x, [-1, self.settings.width])[: self.count]
        return whole

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw the placements of one update."""
        drawn = self._chances().numpy()
        chances = drawn.astype(np.float64)
        below = chances.cumsum(axis=1)[:, :-1] / chances.sum(axis=1, keepdims=True)
        points = rng.random((self.settings.samples, self.count, 1))
        chosen = np.asarray((points >= below).sum(axis=2), np.int64)
        taken = drawn[np.arange(self.count), chosen]
        return Sample(self.graph.placed(chosen[:, self.part_of]), chosen, {"chances": taken})

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        """Follow PPO's clipped objective for some epochs; return what to log."""
        taken = sample.shared["chances"]
        advantages = credit.samples.astype(np.float32)
        for _ in range(self.settings.epochs):
            gradients, norm, entropy = self._ascend(sample.chosen, taken, advantages, best_choices)
            if not np.isfinite(float(norm)):
                break
            self._optimizer.apply(list(gradients), self.settings.learning_rate)
        return {"gradient_norm": float(norm), "entropy": float(entropy)}

    def _gradient(
        self, chosen: Tensor, old: Tensor, advantages: Tensor, best: Tensor
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        with tf.GradientTape() as tape:
            log_chances = tf.nn.log_softmax(self.logits())
            nodes = tf.broadcast_to(tf.range(self.count, dtype=tf.int64), tf.shape(chosen))
            new = tf.exp(tf.gather_nd(log_chances, tf.stack([nodes, chosen], axis=2)))
            gain = clipped(new / old, advantages[:, None], self.settings.clip)
            # A mean over the nodes: Adam makes the same steps whatever their number.
            gain = tf.reduce_sum(tf.reduce_mean(gain, axis=1))
            loss = -gain - self.settings.objective(log_chances, best)
        gradients = tape.gradient(loss, self.variables)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(log_chances) * log_chances, axis=1))
        return gradients, tf.linalg.global_norm(gradients), entropy


def clipped(ratio: Tensor, advantages: Tensor, clip: float) -> Tensor:
    """PPO's gain of each decision: the lesser of ratio A and the clipped ratio's."""
    bounded = tf.clip_by_value(ratio, 1 - clip, 1 + clip)
    gain: Tensor = tf.minimum(ratio * advantages, bounded * advantages)
    return gain


def _mask(count: int, segments: int, size: int) -> NDArray[np.float32]:
    """float32[segments, 1, 1, 2 size]: 0 for nodes that a segment sees, else far below 0."""
    own = np.arange(segments * size).reshape(segments, size) < count
    before = np.concatenate([np.zeros((1, size), bool), own[:-1]])
    seen = np.concatenate([before, own], axis=1)
    return np.where(seen, 0, -1e9).astype(np.float32)[:, None, None, :]
