"""HSDAG (Duan et al., A Structure-Aware Framework for Learning Device Placements, NeurIPS 2024).

A graph network scores the edges of a coarsened graph, every node keeps its best edge, what hangs
together is a group, and a perceptron puts each group on a device. The file follows the paper: the
settings; the network (embeddings, edge scores, groups, placer); an episode, in which each step
changes what the next one sees; REINFORCE. How the graph is coarsened and what a node is told of
stands in planners/features/coarse_graph.py, how edges make groups in graph_parsing.py beside it.
An operation is a colocation class here, so that no placement can violate a colocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from planners.features.class_graph import ClassGraph
from planners.features.coarse_graph import COARSENINGS, FEATURES, Coarse, node_features
from planners.features.graph_parsing import Level
from planners.features.tables import Matrix
from planners.nn.backend import tf, threads
from planners.nn.dropout import Masks, side_by_side
from planners.nn.graph_convolution import adjacency, repeated
from planners.nn.group_pooling import pool
from planners.nn.optimizer import Optimizer
from planners.nn.perceptron import Perceptron, normalised
from planners.nn.tensor import Tensor
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from planners.policy_gradient.draw import draw
from planners.policy_gradient.reinforce import Reinforce, Sample
from planners.policy_gradient.rewards import Credit
from planners.policy_gradient.views import Dropped, Part, View, parts
from planners.policy_gradient.weighted import Weighted
from suite.core.arrays import Bools, Floats, Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

ROWS = 5_000
"""Nodes of steps that are learned from at a time: few enough for a processor's cache."""


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
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one episode.
        """
        graph = Coarse.of(ClassGraph(problem), self.coarsening)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        policy = self.policy(graph, search.rng)
        search.note(nodes=graph.count, threads=threads())

        def reward(scores: Scores, memory: Ints) -> Floats:
            return self.rewards(scores, policy.alone)

        return Reinforce(policy, search, self.episodes, reward, Weighted(self.weights)).run()

    def policy(self, graph: Coarse, rng: np.random.Generator) -> Policy:
        """The network, with weights drawn."""
        return Policy(graph, node_features(graph, self.features, self.position_size), self, rng)

    def rewards(self, scores: Scores, alone: Bools) -> Floats:
        """1 / latency, and nothing where it does not fit in memory: float64[steps].

        ``alone``, bool[steps]: whether everything is on one device.
        """
        none = scores.oom if self.single_device else scores.oom | alone
        return np.where(none, 0.0, 1 / np.maximum(scores.step_time, 1e-9))

    def weights(self, rewards: Floats) -> Floats:
        """What each step's log-probabilities are followed by: float64[steps]."""
        if self.baseline == "mean":
            rewards = rewards - rewards.mean()
        powers = self.discount ** np.arange(len(rewards))
        if self.credit == "episode":
            return np.full(len(rewards), (rewards * powers[::-1]).sum())
        return np.asarray(rewards * powers)


class Policy:
    """The network: from what is carried over to groups and the chances of their devices."""

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
        self.views: list[View] = []
        self.alone: Bools = np.zeros(0, np.bool_)
        """bool[steps]: whether all is on one device, of the episode drawn last."""
        compiled = {"autograph": False, "reduce_retracing": True}
        self._embed, self._score, self._pool, self._chances, self._normalised, self._gradient = (
            tf.function(f, **compiled)
            for f in (self.embed, self.score, pool, self.chances, normalised, self._loss_gradient)
        )
        self.dropped = Dropped(
            [*range(101, 100 + settings.transform_layers), *range(200, 200 + settings.gcn_layers)],
            range(301, 300 + settings.scoring_layers),
            [401],
        )
        self._repeated = cache(partial(repeated, self.near))

    def embed(self, states: Tensor, near: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """Embeddings of the nodes of some steps, float32[steps * nodes, hidden]: Z = GCN(X).

        X is what the first layers make of the features. What was carried over, float32[steps *
        nodes, hidden], is added to it, and all is normalised, where the paper only adds: after
        twenty additions all nodes look alike. (So Z_v += Z_v' is done in two parts: what was
        pooled is summed and carried over, and here it is added.)
        """
        features = tf.tile(self.features, [tf.shape(states)[0] // self.graph.count, 1])
        inner = self.settings.transform_layers - 1
        start = normalised(normalised(self.transform(features, masks[:inner])) + states)
        x = start
        for i, layer in enumerate(self.convolutions):
            x = tf.nn.relu(layer(tf.sparse.sparse_dense_matmul(near, x)))
            if masks:
                x = x * masks[inner + i]
        return normalised(start + x)

    def score(self, z: Tensor, sources: Tensor, targets: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """float32[edges]: logits of the edge scores sigmoid(MLP(z_v * z_u))."""
        return self.scorer(tf.gather(z, sources) * tf.gather(z, targets), masks)[:, 0]

    def logits(self, part: Part) -> Tensor:
        """float32[all groups, devices]: of steps that have as many levels, their groups known."""
        z = self.embed(part.states, part.near, part.node_masks)
        for (sources, targets, *groups), masks in zip(part.levels, part.edge_masks, strict=True):
            scores = self.score(z, sources, targets, masks)
            z = pool(z, scores, sources, targets, *groups)
        return self.placer(z, part.group_masks)

    def chances(self, z: Tensor, masks: Sequence[Tensor]) -> Tensor:
        """float64[groups, devices], each row summing to 1."""
        chances: Tensor = tf.nn.softmax(tf.cast(self.placer(z, masks), tf.float64))
        return chances

    def look(self, state: Matrix, rng: np.random.Generator) -> View:
        """Group the nodes as this state, float32[nodes, hidden], has it, and weigh devices."""
        own = Masks(self.settings.dropout, self.settings.hidden, int(rng.integers(0, 2**62)))
        masks, dropped = partial(side_by_side, [own]), self.dropped
        count, edges, levels = self.graph.count, self.graph.edges, list[Level]()
        z = self._embed(state, self._repeated(1), masks(dropped.nodes, [count]))
        of_node = np.arange(count)
        while not self.settings.levels or len(levels) < self.settings.levels:
            scores = self._score(z, *edges, masks(dropped.edges, [len(edges[0])]))
            level = Level.of(count, *edges, np.asarray(scores, np.float64))
            if levels and level.counts[0] == count:
                break
            z = self._pool(z, scores, *level.arrays)
            levels.append(level)
            of_node, edges, count = level.groups[of_node], level.above(), level.counts[0]
        chances = self._chances(z, masks(dropped.groups, [count]))
        return View(state, own, levels, of_node, np.asarray(z, np.float32), np.asarray(chances))

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw the placements of an episode: each step changes what the next one sees."""
        settings, graph = self.settings, self.graph
        self.views, state = [], np.zeros((graph.count, settings.hidden), np.float32)
        devices = np.zeros((settings.steps, graph.count), np.int64)
        for step in range(settings.steps):
            if settings.carry or settings.dropout or not self.views:
                self.views.append(self.look(state, rng))
            view = self.views[-1]
            chosen = draw(view.chances, rng)
            view.drawn.append((step, chosen))
            devices[step] = chosen[view.of_node]
            if settings.carry:
                added = self._normalised(state + view.pooled[view.of_node])
                state = np.asarray(added, np.float32)
        placed = graph.placed(devices, settings.scrambled)
        self.alone = np.ptp(placed, axis=1) == 0
        return Sample(placed, devices, {})

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        """Follow the policy gradient of an episode (REINFORCE); return what to log."""
        views = self.views
        parts = self.side_by_side(views, [view.factors(credit.samples) for view in views])
        for _ in range(self.settings.epochs):
            gradients = self.gradients(parts)
            norm = float(tf.linalg.global_norm(gradients))
            if not np.isfinite(norm):
                break
            self.optimizer.apply(gradients, self.settings.learning_rate)
        entropy = -np.mean([(v.chances * np.log(v.chances + 1e-30)).sum(1).mean() for v in views])
        groups = float(np.mean([len(view.chances) for view in views]))
        return {"gradient_norm": norm, "entropy": float(entropy), "groups": groups}

    def side_by_side(self, views: Sequence[View], factors: Sequence[Floats]) -> list[Part]:
        """What is learned from together; ``factors``, float64[groups, devices] for each view."""
        most = max(1, ROWS // self.graph.count)
        return list(parts(views, factors, self._repeated, self.dropped, most))

    def gradients(self, parts: Sequence[Part]) -> list[Tensor]:
        """Of minus the weighted log-probabilities, by the weights of the network.

        Groupings are taken as given: the gradient of REINFORCE is that of p(devices | groups).
        """
        found = [self._gradient(part) for part in parts]
        return [sum(each[1:], each[0]) for each in zip(*found, strict=True)]

    def _loss_gradient(self, part: Part) -> list[Tensor]:
        with tf.GradientTape() as tape:
            loss = -tf.reduce_sum(tf.nn.log_softmax(self.logits(part)) * part.factors)
        gradients: list[Tensor] = tape.gradient(
            loss, self.optimizer.variables, unconnected_gradients="zero"
        )
        return gradients
