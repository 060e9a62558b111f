"""HSDAG (Duan et al., A Structure-Aware Framework for Learning Device Placements, NeurIPS 2024).

A graph network scores the edges of a coarsened graph, every node keeps its best edge, what hangs
together is a group, and a perceptron puts each group on a device. The file follows the paper: the
settings; graph parsing; the network (embeddings, edge scores, pooling, placer); episodes, in which
each step changes what the next one sees; REINFORCE. How the graph is coarsened and what a node is
told of stands in planners/features/coarse_graph.py.
An operation is a colocation class here, so that no placement can violate a colocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from planners.features.class_graph import ClassGraph
from planners.features.coarse_graph import (
    COARSENINGS,
    FEATURES,
    Coarse,
    Numbers,
    components,
    node_features,
)
from planners.features.tables import Matrix
from planners.nn.backend import tf, threads
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from suite.core.arrays import Floats, Ints
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

ROWS = 50_000
"""Nodes of steps that are learned from at a time: what they need of memory grows with them."""


@dataclass(frozen=True)
class HSDAG:
    """The paper's settings (Table 6); what it does not print is chosen here, and said to be."""

    features: tuple[str, ...] = FEATURES
    """What a node is told of; without ``shape``, ``position`` or ``fractal``: Table 3."""
    coarsening: str = "chain"
    """What is one node: ``chain``, an only child with the parent whose only child it is (the
    paper); ``only_parent``, a node with its only parent, whatever other children that has (the
    released code); ``none``, nothing."""
    levels: int = 1
    """How often groups are parsed, each time from the groups before: once (the paper's text); 0:
    until their number falls no more (the released code)."""
    hidden: int = 128
    """Units of every layer."""
    transform_layers: int = 2
    """Dense layers from the features to the graph network."""
    gcn_layers: int = 2
    """Graph convolutions."""
    scoring_layers: int = 2
    """Dense layers that score an edge; the placer has two (released code)."""
    dropout: float = 0.2
    """Share of hidden units that are dropped, anew in each step of an episode."""
    steps: int = 20
    """Placements of an episode, after which the policy is updated."""
    episodes: int = 100
    """Episodes, unless the search's budget ends before."""
    epochs: int = 4
    """Adam's steps per episode: Table 6 has ``K_epochs``, which the text does not explain."""
    learning_rate: float = 1e-4
    """Adam's."""
    discount: float = 0.95
    """A step's reward counts by this to the power of its number. Not printed; released code."""
    credit: str = "step"
    """What the log-probabilities of a step are weighted by: its own reward (``step``, the paper's
    loss), or the sum of all, those of late steps discounted least (``episode``, released code)."""
    baseline: str = "none"
    """What is taken off rewards: nothing (the paper), or the episode's ``mean``."""
    carry: bool = True
    """Whether the embeddings of groups are added to what the next step sees of their nodes."""
    position_size: int = 16
    """Sines and cosines that tell a node's number in topological order (Vaswani et al. 2017; how
    many is not printed); 0: the number as it is (released code)."""
    single_device: bool = True
    """Whether everything on one device counts; else it gains nothing (released code)."""
    scrambled: bool = False
    """Whether every class of operations gets the device chosen for another one, always the same
    (the released code numbers operations in two orders)."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, coarsening=COARSENINGS)
        check_words(self, credit=("step", "episode"), baseline=("none", "mean"))
        check_counts(self, "hidden", "transform_layers", "gcn_layers", "scoring_layers")
        check_counts(self, "steps", "episodes", "epochs")
        check_positive(self, "learning_rate", "discount")
        unknown = [name for name in self.features if name not in FEATURES]
        if unknown or not self.features:
            raise InputError(
                f"features are {list(self.features)}; give at least one of {', '.join(FEATURES)}"
            )
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; give a share from 0 to below 1")
        if self.levels < 0 or self.position_size < 0:
            raise InputError("levels or position_size is below 0; give 0 or more")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or the last if none did.

        Raises BudgetExhausted when the budget does not allow one placement.
        """
        graph = Coarse.of(ClassGraph(problem), self.coarsening)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        policy = self.policy(graph, search.rng)
        search.note(nodes=graph.count, threads=threads())
        return Training(self, policy, search).run()

    def policy(self, graph: Coarse, rng: np.random.Generator) -> Policy:
        """The network, with weights drawn."""
        return Policy(graph, node_features(graph, self.features, self.position_size), self, rng)

    def weights(self, scores: Scores) -> Floats:
        """What each step's log-probabilities are followed by: float64[steps]."""
        rewards = self.rewards(scores)
        if self.baseline == "mean":
            rewards = rewards - rewards.mean()
        powers = self.discount ** np.arange(len(rewards))
        if self.credit == "episode":
            return np.full(len(rewards), (rewards * powers[::-1]).sum())
        return np.asarray(rewards * powers)

    def rewards(self, scores: Scores) -> Floats:
        """1 / latency, and nothing where it does not fit in memory: float64[steps]."""
        return np.where(scores.oom, 0.0, 1 / np.maximum(scores.step_time, 1e-9))


def parse(count: int, sources: Ints, targets: Ints, logits: Floats) -> tuple[int, Numbers]:
    """Graph parsing: every node keeps its best edge, whichever way it goes; what that joins.

    Logits are compared rather than their sigmoids, which are equal where they saturate; of equal
    edges the first is kept. Edges and logits are [edges]. Returns the number of groups and the
    group of each node, int64[count].
    """
    ends = np.concatenate([sources, targets])
    edge = np.tile(np.arange(len(sources)), 2)
    order = np.lexsort((edge, -np.tile(logits, 2), ends))
    _, first = np.unique(ends[order], return_index=True)
    kept = edge[order][first]
    return components(count, sources[kept], targets[kept])


@dataclass(frozen=True, eq=False)
class Level:
    """One parsing: the edges that were scored, and the groups that followed."""

    sources: Numbers
    targets: Numbers
    groups: Numbers
    """int64[nodes of this level]."""
    edges: Sequence[int]
    counts: Sequence[int]
    """Edges and groups of each of the steps that stand side by side here."""

    @classmethod
    def of(cls, count: int, sources: Numbers, targets: Numbers, logits: Floats) -> Level:
        """Parse the groups of one step."""
        groups, of_node = parse(count, sources, targets, logits)
        return cls(sources, targets, of_node, (len(sources),), (groups,))

    @classmethod
    def side_by_side(cls, levels: Sequence[Level]) -> Level:
        """Parsings of several steps as one, of a graph that has several parts."""
        nodes = np.cumsum([0, *(len(level.groups) for level in levels)])
        groups = np.cumsum([0, *(level.counts[0] for level in levels)])
        return cls(
            np.concatenate([level.sources + n for level, n in zip(levels, nodes, strict=False)]),
            np.concatenate([level.targets + n for level, n in zip(levels, nodes, strict=False)]),
            np.concatenate([level.groups + n for level, n in zip(levels, groups, strict=False)]),
            [level.edges[0] for level in levels],
            [level.counts[0] for level in levels],
        )

    def above(self) -> tuple[Numbers, Numbers]:
        """The edges between groups, each once."""
        ends = np.sort([self.groups[self.sources], self.groups[self.targets]], axis=0)
        pairs = np.unique(ends[:, ends[0] != ends[1]], axis=1)
        return pairs[0], pairs[1]


class Dropout:
    """Masks that come out the same whenever they are drawn for the same steps."""

    def __init__(self, rate: float, seeds: Sequence[int]) -> None:
        """``seeds``: of each of the steps that stand side by side."""
        self.rate, self.seeds = rate, seeds

    def __call__(self, x: Tensor, layer: int, rows: Sequence[int]) -> Tensor:
        """Drop values of float32[all rows, units], so many rows of each step."""
        if not self.rate:
            return x
        kept = [
            np.random.default_rng((seed, layer)).random((count, x.shape[1]), np.float32)
            for seed, count in zip(self.seeds, rows, strict=True)
        ]
        mask = (np.concatenate(kept) >= self.rate) / np.float32(1 - self.rate)
        return x * mask.astype(np.float32)


class Perceptron:
    """Dense layers with rectifiers and dropout between them."""

    def __init__(self, rng: np.random.Generator, sizes: Sequence[int]) -> None:
        """Draw weights for layers from each size to the next."""
        self.layers = [(glorot("w", rng, a, b), zeros("b", b)) for a, b in pairwise(sizes)]

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        return [variable for layer in self.layers for variable in layer]

    def __call__(self, x: Tensor, drop: Dropout, number: int, rows: Sequence[int]) -> Tensor:
        """float32[rows, last size] of float32[rows, first size]; ``number`` of its first layer."""
        for i, (weights, bias) in enumerate(self.layers):
            if i:
                x = drop(tf.nn.relu(x), number + i, rows)
            x = tf.matmul(x, weights) + bias
        return x


def normalised(x: Tensor) -> Tensor:
    """Each row with mean 0 and variance 1 (layer normalisation without weights)."""
    away = x - tf.reduce_mean(x, axis=-1, keepdims=True)
    result: Tensor = away * tf.math.rsqrt(tf.reduce_mean(away**2, axis=-1, keepdims=True) + 1e-6)
    return result


@dataclass(frozen=True, eq=False)
class View:
    """What one step of an episode sees, and how it groups the nodes."""

    state: Matrix
    """float32[nodes, hidden]: what was carried over from the steps before."""
    seed: int
    """Of the dropout."""
    levels: list[Level]
    of_node: Numbers
    """int64[nodes]: the group of each."""
    pooled: Matrix
    """float32[groups, hidden]."""
    chances: Floats
    """float64[groups, devices]."""


class Policy:
    """The network: from what is carried over to groups and the chances of their devices.

    It runs uncompiled, since its shapes change from step to step. Steps that are learned from stand
    side by side as parts of one graph.
    """

    def __init__(
        self, graph: Coarse, features: Matrix, settings: HSDAG, rng: np.random.Generator
    ) -> None:
        """Draw the weights; ``features`` is float32[nodes, features]."""
        self.graph, self.settings, self.features = graph, settings, features
        width = settings.hidden
        layers = [width] * settings.transform_layers
        self.transform = Perceptron(rng, [features.shape[1], *layers])
        self.convolutions = [Perceptron(rng, [width, width]) for _ in range(settings.gcn_layers)]
        self.scorer = Perceptron(rng, [*[width] * settings.scoring_layers, 1])
        self.placer = Perceptron(rng, [width, width, graph.classes.devices])
        parts = [self.transform, *self.convolutions, self.scorer, self.placer]
        self.optimizer = Optimizer([variable for part in parts for variable in part.variables])
        self.near = adjacency(graph.count, *graph.edges)

    def embed(self, states: Sequence[Matrix], drop: Dropout) -> Tensor:
        """Embeddings of the nodes of some steps, float32[steps * nodes, hidden]: Z = GCN(X).

        What was carried over is added to X, and all is normalised, where the paper only adds: after
        twenty additions nothing is left to be told apart otherwise.
        """
        rows = [self.graph.count] * len(states)
        features = tf.constant(np.tile(self.features, (len(states), 1)))
        told = self.transform(features, drop, 100, rows)
        start = normalised(normalised(told) + np.concatenate(states))
        near = repeated(self.near, len(states))
        x = start
        for number, layer in enumerate(self.convolutions, 200):
            mixed = tf.sparse.sparse_dense_matmul(near, x)
            x = drop(tf.nn.relu(layer(mixed, drop, number, rows)), number, rows)
        return normalised(start + x)

    def score(
        self, z: Tensor, sources: Ints, targets: Ints, drop: Dropout, rows: Sequence[int]
    ) -> Tensor:
        """float32[edges]: logits of the edge scores sigmoid(MLP(z_v * z_u))."""
        product = tf.gather(z, sources) * tf.gather(z, targets)
        return self.scorer(product, drop, 300, rows)[:, 0]

    def logits(self, views: Sequence[View]) -> Tensor:
        """float32[all groups, devices]: of steps that have as many levels, their groups known."""
        drop = Dropout(self.settings.dropout, [view.seed for view in views])
        z = self.embed([view.state for view in views], drop)
        for levels in zip(*(view.levels for view in views), strict=True):
            level = Level.side_by_side(levels)
            scores = self.score(z, level.sources, level.targets, drop, level.edges)
            z = pool(z, scores, level)
        return self.placer(z, drop, 400, [len(view.chances) for view in views])

    def look(self, state: Matrix, rng: np.random.Generator) -> View:
        """Group the nodes as this state, float32[nodes, hidden], has it, and weigh devices."""
        seed = int(rng.integers(0, 2**62))
        drop = Dropout(self.settings.dropout, [seed])
        z = self.embed([state], drop)
        count, edges, levels = self.graph.count, self.graph.edges, list[Level]()
        of_node = np.arange(count)
        while not self.settings.levels or len(levels) < self.settings.levels:
            scores = self.score(z, *edges, drop, [len(edges[0])])
            level = Level.of(count, *edges, np.asarray(scores, np.float64))
            if levels and level.counts[0] == count:
                break
            z = pool(z, scores, level)
            levels.append(level)
            of_node, edges, count = level.groups[of_node], level.above(), level.counts[0]
        chances = tf.nn.softmax(tf.cast(self.placer(z, drop, 400, [count]), tf.float64))
        return View(state, seed, levels, of_node, np.asarray(z, np.float32), np.asarray(chances))

    def learn(self, views: Sequence[View], weights: Sequence[Floats]) -> dict[str, float]:
        """Follow the policy gradient of an episode; return what to log.

        ``weights``, float64[groups, devices] for each view: how far to follow the log-probability
        of each device of each group, over all that was drawn from it.
        """
        entropy = -np.mean([(v.chances * np.log(v.chances + 1e-30)).sum(1).mean() for v in views])
        for _ in range(self.settings.epochs):
            gradients = self.gradients(views, weights)
            norm = float(tf.linalg.global_norm(gradients))
            if not np.isfinite(norm):
                break
            self.optimizer.apply(gradients, self.settings.learning_rate)
        return {"gradient_norm": norm, "entropy": float(entropy)}

    def gradients(self, views: Sequence[View], weights: Sequence[Floats]) -> list[Tensor]:
        """Of minus the weighted log-probabilities, by the weights of the network.

        Groupings are taken as given: the gradient of REINFORCE is that of p(devices | groups).
        """
        variables = self.optimizer.variables
        total: list[Tensor] = [tf.zeros_like(variable) for variable in variables]
        for part in alike(views, max(1, ROWS // self.graph.count)):
            factors = np.concatenate([weights[i] for i in part]).astype(np.float32)
            with tf.GradientTape() as tape:
                log_chances = tf.nn.log_softmax(self.logits([views[i] for i in part]))
                loss = -tf.reduce_sum(log_chances * factors)
            found = tape.gradient(loss, variables, unconnected_gradients="zero")
            total = [a + b for a, b in zip(total, found, strict=True)]
        return total


def pool(z: Tensor, logits: Tensor, level: Level) -> Tensor:
    """Embeddings of groups, float32[groups, hidden]: of their nodes' sum, by their edges' score.

    The mean score of the edges within a group weights it, as in the released code; through it alone
    the scores learn.
    """
    count, home = sum(level.counts), level.groups[level.sources]
    within = (home == level.groups[level.targets]).astype(np.float32)
    edges = np.bincount(home, within, minlength=count).astype(np.float32)
    scores = tf.math.unsorted_segment_sum(within * tf.sigmoid(logits), home, count)
    mean = tf.where(edges > 0, scores / np.maximum(edges, 1), 1.0)
    sums = tf.math.unsorted_segment_sum(z, level.groups, count)
    pooled: Tensor = normalised(sums) * mean[:, None]
    return pooled


def alike(views: Sequence[View], most: int) -> Iterator[list[int]]:
    """Numbers of views with as many levels, at most so many together."""
    by_levels: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        by_levels.setdefault(len(view.levels), []).append(i)
    for same in by_levels.values():
        yield from (same[start : start + most] for start in range(0, len(same), most))


def adjacency(count: int, sources: Ints, targets: Ints) -> csr_array:
    """D^-1/2 (A + I) D^-1/2 of the graph without directions, [count, count] (Kipf and Welling)."""
    loops = np.arange(count)
    one = np.concatenate([sources, targets, loops])
    other = np.concatenate([targets, sources, loops])
    near = csr_array((np.ones(len(one), np.float32), (one, other)), shape=(count, count))
    near.data[:] = 1
    root = 1 / np.sqrt(near.sum(axis=1))
    return near.multiply(root[:, None]).multiply(root[None, :]).tocsr()


def repeated(near: csr_array, times: int) -> Tensor:
    """A graph's adjacency so many times, as the parts of one graph; a sparse tensor."""
    part = near.tocoo()
    offsets = np.repeat(np.arange(times), part.nnz)[:, None] * near.shape[0]
    places = np.tile(np.stack([part.row, part.col], axis=1), (times, 1)) + offsets
    values = np.tile(part.data, times).astype(np.float32)
    tensor: Tensor = tf.sparse.SparseTensor(places, values, [times * n for n in near.shape])
    return tensor


def draw(chances: Floats, rng: np.random.Generator) -> Numbers:
    """One device of each row of float64[groups, devices]: int64[groups]."""
    below = chances.cumsum(axis=1)[:, :-1] / chances.sum(axis=1, keepdims=True)
    return np.asarray((rng.random((len(chances), 1)) >= below).sum(axis=1), np.int64)


@dataclass(frozen=True, eq=False)
class Step:
    """One placement of an episode."""

    view: int
    """Number of what it was drawn from."""
    chosen: Numbers
    """int64[groups]: devices."""


class Training:
    """Episodes until they or the budget are spent; can be stopped after one and taken up again."""

    def __init__(self, settings: HSDAG, policy: Policy, search: Search) -> None:
        """Start afresh, or from the search's checkpoint."""
        self.settings, self.policy, self.search = settings, policy, search
        self.episode = 0
        self.last: NDArray[np.int32] | None = None
        saved = search.restore()
        if saved is not None:
            self._restore(saved)

    def run(self) -> Placement:
        """Train; return the best placement met. A gradient that overflows ends the search."""
        notes = self.search.notes
        try:
            while self.episode < self.settings.episodes and "diverged" not in notes:
                self._improve(*self._visit())
        except BudgetExhausted:
            if self.last is None:
                raise
        self.search.note(episodes=self.episode)
        if self.search.best is not None:
            return self.search.best
        assert self.last is not None
        return Placement.of(self.search.problem, self.last)

    def _visit(self) -> tuple[list[View], list[Step], Scores]:
        """Draw the placements of an episode and have them judged; what is left of the budget."""
        settings, graph, rng = self.settings, self.policy.graph, self.search.rng
        views, steps = list[View](), list[Step]()
        state: Matrix = np.zeros((graph.count, settings.hidden), np.float32)
        for _ in range(int(max(1, min(settings.steps, self.search.remaining)))):
            if settings.carry or settings.dropout or not views:
                views.append(self.policy.look(state, rng))
            view = views[-1]
            steps.append(Step(len(views) - 1, draw(view.chances, rng)))
            if settings.carry:
                added = normalised(tf.constant(state + view.pooled[view.of_node]))
                state = np.asarray(added, np.float32)
        devices = np.stack([step.chosen[views[step.view].of_node] for step in steps])
        placed = graph.placed(devices, settings.scrambled)
        scores = self.search.evaluate(placed)
        self.last = placed[-1]
        if not settings.single_device:
            time = np.where(np.ptp(placed, axis=1) == 0, np.inf, scores.step_time)
            scores = replace(scores, step_time=time)
        return views, steps, scores

    def _improve(self, views: list[View], steps: list[Step], scores: Scores) -> None:
        """Make one update."""
        factors = [np.zeros_like(view.chances) for view in views]
        for step, weight in zip(steps, self.settings.weights(scores), strict=True):
            factors[step.view][np.arange(len(step.chosen)), step.chosen] += weight
        scalars = self.policy.learn(views, factors)
        self.episode += 1
        if not np.isfinite(scalars["gradient_norm"]):
            self.search.note(diverged=self.episode)
        groups = float(np.mean([len(view.chances) for view in views]))
        reward = float(self.settings.rewards(scores).mean())
        self.search.log(self.episode, reward=reward, groups=groups, **scalars)
        self.search.checkpoint(self._state)

    def _state(self) -> dict[str, NDArray[np.generic]]:
        assert self.last is not None
        weights = self.policy.optimizer.state()
        policy = {f"policy/{name}": array for name, array in weights.items()}
        return {"episode": np.array(self.episode), "last": self.last, **policy}

    def _restore(self, saved: Mapping[str, NDArray[np.generic]]) -> None:
        self.episode, self.last = int(saved["episode"]), np.asarray(saved["last"], np.int32)
        start = "policy/"
        self.policy.optimizer.restore(
            {k.removeprefix(start): v for k, v in saved.items() if k.startswith(start)}
        )
