"""The Hierarchical Planner (Mirhoseini et al., A Hierarchical Model for Device Placement, 2018).

A Grouper puts operations into groups, a Placer the groups on devices; REINFORCE trains both at
once. The file follows the paper: the settings; then what the Grouper sees of an operation, the
Grouper, what the Placer sees of a group, the Placer (section 3), the joint objective and its
gradient (equations 4 and 6). Network parts are in planners/nn/, rewards, baseline and the search
loop in planners/policy_gradient/. An operation is a colocation class here
(planners/features/class_graph.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from planners.features.tables import Matrix, neighbours, output_shapes, standard
from planners.nn.backend import tf, threads
from planners.nn.bidirectional import Bidirectional
from planners.nn.decoder import Decoder
from planners.nn.noise import Noise
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, TensorArray, Variable
from planners.nn.weights import glorot, zeros
from planners.policy_gradient.checks import check_counts, check_positive, check_words
from planners.policy_gradient.fixed_grouping import FixedGrouping
from planners.policy_gradient.reinforce import Policy, Reinforce, Sample
from planners.policy_gradient.rewards import Baseline, Credit, minus_root
from suite.core.arrays import Floats, Ints
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search

Logs = tuple[Tensor, dict[str, Tensor]]
"""Log-probabilities, float32[samples], and what to log beside them, a number each."""
TYPES = 200
"""Operation types told apart: the 200 most common (section 3)."""


@dataclass(frozen=True)
class HDP:
    """The paper's settings (sections 3 and 4.2).

    Where it is silent, those of the authors' released code, or, where that cannot have been what
    they ran, ours; both are named. Not as printed: the summed output shapes of a group are 24
    numbers, not 16; one controller learns, not four that share their weights.
    """

    groups: int = 256
    """Groups offered to the Grouper."""
    type_embedding: int = 20
    """Size of the learned embedding of an operation's type."""
    outputs: int = 6
    """Outputs of an operation whose shapes are features."""
    dimensions: int = 4
    """Dimensions of each of them."""
    adjacency: int = 12
    """Numbers that describe an operation's neighbours, half for producers, half for readers."""
    op_scale: str = "standard"
    """``raw`` or ``standard`` (logarithms, mean 0, deviation 1). Not in the paper. Raw ones, as in
    the released code, saturate the Grouper's softmax: it does not start near uniform, as the
    paper's does (section 4.4), but ends with few groups, as the paper's does, too, and finds faster
    placements of NMT (docs/tf13.md)."""
    group_scale: str = "log"
    """``raw``, ``log`` or ``row_max`` (divided by the row's maximum + 1; released code). Not in the
    paper; the sums of shapes are so large that under ``row_max`` nothing else is left, and the
    Placer cannot tell groups apart."""
    grouper_hidden: int = 64
    """Units of the Grouper's hidden layer, which is linear (released code)."""
    hidden: int = 256
    """Units of the decoder; each direction of the encoder has half (released code)."""
    forget_bias: float = 1.0
    """Added to the forget gates (released code)."""
    temperature: float = 10.0
    """T of softmax(C tanh(logits / T))."""
    tanh_constant: float = 5.0
    """C of softmax(C tanh(logits / T)); 0: softmax(logits / T)."""
    samples: int = 4
    """Placements per update, all of one grouping (k; m is 1)."""
    updates: int = 1000
    """Policy updates."""
    learning_rate: float = 0.1
    """Adam's."""
    adam_epsilon: float = 0.1
    """Added to the root of Adam's second moment. Not in the paper. At TensorFlow's default of 1e-8,
    which the released code has, a rate of 0.1 changes every weight by 0.1 at once, whatever its
    gradient: tanh saturates within ten updates and no gradient is left (reports/hdp_reasons.md).
    TensorFlow 1.3 itself advises 0.1 or 1.0 for some networks; clipping has a meaning, too."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    clip_apart: bool = True
    """Each network's gradient by its own norm, not both by their common one. Not in the paper. The
    Grouper's is a sum over all operations: of a common norm it leaves the Placer a thousandth."""
    noise_size: float = 0.1
    """Largest value of the noise on the logits of both networks."""
    noise_updates: int = 500
    """Updates with this noise."""
    failing_reward: float = -10.0
    """Reward of a placement that does not fit in memory; others have -sqrt(step time)."""
    baseline_decay: float = 0.9
    """Of the moving average of rewards (released code)."""
    baseline_start: str = "first"
    """``first``: the first mean reward; ``failing``: the reward of an invalid placement (released
    code). Not in the paper; from ``failing``, at a rate of 0.1, whatever is drawn first looks so
    good that it is all that is drawn twenty updates later."""
    valid_only_after: int = 500
    """Updates after which policy and baseline learn from valid placements only."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        check_words(self, op_scale=("raw", "standard"), group_scale=("raw", "log", "row_max"))
        check_words(self, baseline_start=("first", "failing"))
        check_counts(self, "groups", "type_embedding", "grouper_hidden", "hidden")
        check_counts(self, "samples", "updates")
        check_positive(self, "temperature", "learning_rate", "adam_epsilon", "clip")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, or one that does not if none did.

        Raises BudgetExhausted when the budget does not allow one update.
        """
        if not problem.graph.n_ops:
            return Placement.of(problem, np.zeros(0, np.int32))
        policy, groups = self.policy(ClassGraph(problem), search.rng)
        search.note(groups=groups, tensorflow_threads=threads())
        return self.reinforce(policy, search).run()

    def policy(self, graph: ClassGraph, rng: np.random.Generator) -> tuple[Policy, int]:
        """Create the two networks; return their policy and how many groups it has."""
        grouper = self.grouper(graph, rng)
        embedding = self.group_embedding(graph, grouper.groups)
        placer = self.placer(embedding, graph.devices, rng)
        return self.joint(graph, grouper, placer), grouper.groups

    def grouper(self, graph: ClassGraph, rng: np.random.Generator) -> Grouping:
        """Create the Grouper."""
        return Grouper(op_features(graph, self), graph.types, self.groups, self, rng)

    def group_embedding(self, graph: ClassGraph, groups: int) -> GroupEmbedding:
        """Prepare the embedding of groups."""
        return GroupEmbedding(graph, groups, self)

    def placer(self, embed: GroupEmbedding, devices: int, rng: np.random.Generator) -> Placer:
        """Create the Placer."""
        return Placer(embed, devices, self, rng)

    def joint(self, graph: ClassGraph, grouper: Grouping, placer: Placer) -> JointPolicy:
        """Join the networks."""
        return JointPolicy(graph, grouper, placer, self)

    @property
    def noise(self) -> Noise:
        """Of both networks."""
        return Noise(self.noise_size, self.noise_updates)

    def rate(self, update: int) -> float:
        """Adam's learning rate, the same at every ``update``."""
        return self.learning_rate

    def reinforce(self, policy: Policy, search: Search) -> Reinforce:
        """Prepare the training of ``policy`` (section 4.2)."""
        return Reinforce(policy, search, self.updates, self.reward, self.baseline())

    def reward(self, scores: Scores, memory: Ints) -> Floats:
        """-sqrt(seconds), or the failing reward: float64[samples]."""
        return minus_root(scores, self.failing_reward)

    def baseline(self) -> Baseline:
        """The moving average at its start."""
        start = self.failing_reward if self.baseline_start == "failing" else np.nan
        return Baseline(self.baseline_decay, self.valid_only_after, start)


def op_features(graph: ClassGraph, settings: HDP) -> Matrix:
    """What the Grouper sees of an operation beside its type: float32[ops, features].

    The shapes of its outputs, then the breadth-first positions of its producers and of its readers
    (section 3).
    """
    near = [
        neighbours(graph.breadth_first, *side, settings.adjacency // 2)
        for side in (graph.predecessors, graph.successors)
    ]
    shapes = output_shapes(graph, settings.outputs, settings.dimensions)
    features = np.concatenate([shapes, *near], axis=1)
    return features if settings.op_scale == "raw" else standard(features)


class Grouper:
    """A feed-forward softmax over groups, for every operation alone (section 3)."""

    def __init__(
        self, features: Matrix, types: Ints, groups: int, settings: HDP, rng: np.random.Generator
    ) -> None:
        """Create the weights; ``features``: float32[ops, features], ``types``: int[ops]."""
        self.groups, self.noise, self.ops = groups, settings.noise, len(features)
        self.features = tf.constant(features)
        self.types = tf.constant(np.minimum(types, TYPES - 1), tf.int32)
        kinds = min(int(types.max()) + 1, TYPES)
        self.embedding = glorot("types", rng, kinds, settings.type_embedding)
        width = features.shape[1] + settings.type_embedding
        self.hidden = glorot("grouper/hidden", rng, width, settings.grouper_hidden)
        self.bias = zeros("grouper/bias", settings.grouper_hidden)
        self.output = glorot("grouper/softmax", rng, settings.grouper_hidden, groups)
        self._drawn = tf.function(self._draw, autograph=False)

    @property
    def variables(self) -> list[Variable]:
        """All weights, in a fixed order."""
        return [self.embedding, self.hidden, self.bias, self.output]

    def inputs(self) -> Tensor:
        """The embedding of the type beside the features: float32[ops, width]."""
        inputs: Tensor = tf.concat([tf.gather(self.embedding, self.types), self.features], 1)
        return inputs

    def logits(self) -> Tensor:
        """float32[ops, groups]."""
        return (self.inputs() @ self.hidden + self.bias) @ self.output

    def _draw(self, seed: Tensor, samples: int, noise: Matrix | None) -> Tensor:
        logits = self.logits()
        if noise is not None:
            logits = self.noise.add(logits, noise)
        drawn = tf.random.stateless_categorical(logits, samples, seed, tf.int64)
        transposed: Tensor = tf.transpose(drawn)
        return transposed

    def sample(self, rng: np.random.Generator, samples: int, update: int) -> NDArray[np.int64]:
        """Draw groupings, int64[samples, ops], with the noise of this update."""
        noise = None
        if update < self.noise.updates:
            noise = self.noise.draw(rng, (self.ops, self.groups), update)
        seed = rng.integers(0, 2**31 - 1, 2).astype(np.int32)
        return np.asarray(self._drawn(tf.constant(seed), samples, noise).numpy(), np.int64)

    def log_probabilities(self, groupings: Tensor) -> Logs:
        """Score groupings, int64[samples, ops]; beside them the mean entropy of a choice."""
        logs = tf.nn.log_softmax(self.logits())
        picked = tf.reduce_sum(tf.gather(logs, tf.transpose(groupings), batch_dims=1), 0)
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, -1))
        return picked, {"grouper_entropy": entropy}


Grouping = Grouper | FixedGrouping


class GroupEmbedding:
    """What the Placer sees of a group: type counts, summed output shapes, adjacent groups."""

    def __init__(self, graph: ClassGraph, groups: int, settings: HDP) -> None:
        """Prepare what does not depend on the grouping."""
        self.groups, self.scale = groups, settings.group_scale
        self._edges = graph.edges
        self._kinds = np.minimum(graph.types, TYPES - 1)
        self._n_kinds = int(self._kinds.max()) + 1
        self._shapes = np.maximum(output_shapes(graph, settings.outputs, settings.dimensions), 0)
        nothing = np.zeros(0, np.int64)
        near = sum(part.shape[1] for part in self.adjacency(nothing, nothing))
        self.width = self._n_kinds + self._shapes.shape[1] + near

    def of(self, grouping: NDArray[np.int64]) -> Matrix:
        """Embed a grouping, int64[ops]: float32[groups, width]."""
        kinds = self._n_kinds
        counts = np.bincount(grouping * kinds + self._kinds, minlength=self.groups * kinds)
        sums = [np.bincount(grouping, column, self.groups) for column in self._shapes.T]
        counted = [counts.reshape(-1, kinds), np.stack(sums, axis=1)]
        counted = [part.astype(np.float32) for part in counted]
        if self.scale == "log":
            counted = [np.log1p(part) for part in counted]
        near = self.adjacency(grouping[self._edges[0]], grouping[self._edges[1]])
        rows = np.concatenate([*counted, *near], axis=1)
        if self.scale == "row_max":
            rows /= rows.max(axis=1, keepdims=True) + 1
        return np.asarray(rows, np.float32)

    def adjacency(self, sources: Ints, targets: Ints) -> list[Matrix]:
        """Whether groups exchange a tensor, 0 or 1: float32[groups, groups].

        ``sources``, ``targets``: int[edges], the groups at the ends of each edge.
        """
        counts = self.edge_counts(sources, targets)
        touching = ((counts + counts.T) > 0).astype(np.float32)
        np.fill_diagonal(touching, 0)
        return [touching]

    def edge_counts(self, sources: Ints, targets: Ints) -> NDArray[np.int64]:
        """int64[groups, groups]: edges from one group to another."""
        counts = np.bincount(sources * self.groups + targets, minlength=self.groups**2)
        return counts.reshape(self.groups, self.groups)


class Placer:
    """Chooses a device for each of a sequence of embedded groups (section 3).

    A bidirectional LSTM reads the groups; an LSTM with content-based attention writes one device
    per group, each choice fed to the next step as a learned embedding.
    """

    def __init__(
        self, embed: GroupEmbedding, devices: int, settings: HDP, rng: np.random.Generator
    ) -> None:
        """Create the weights for groups as ``embed`` embeds them."""
        self.embed, self.devices, self.settings = embed, devices, settings
        units, forget_bias = settings.hidden, settings.forget_bias
        self.encoder = Bidirectional(embed.width, units, forget_bias, rng)
        self.decoder = Decoder(devices, units, forget_bias, rng)
        self.output = glorot("softmax", rng, 2 * units, devices)
        self.draw = tf.function(self._draw, jit_compile=True, autograph=False)

    @property
    def variables(self) -> list[Variable]:
        """All weights, in a fixed order."""
        return [*self.encoder.variables, *self.decoder.variables, self.output]

    def logits(self, hidden: Tensor, attention: Tensor, memory: Tensor, group: object) -> Tensor:
        """Turn hidden states and attention scores into logits, float32[..., devices].

        ``hidden``: float32[..., units]; ``attention``: float32[..., groups]; ``memory``: what the
        encoder kept, float32[groups, units]; ``group``: index of the groups that are placed.
        """
        context = tf.tensordot(tf.nn.softmax(attention), memory, 1)
        logits = tf.tensordot(tf.concat([hidden, context], -1), self.output, 1)
        logits = self.adjusted(logits / self.settings.temperature, group)
        constant = self.settings.tanh_constant
        return constant * tf.tanh(logits) if constant else logits

    def adjusted(self, logits: Tensor, group: object) -> Tensor:
        """Return the logits of ``group``, which a variant may change before they are bounded."""
        return logits

    def _draw(self, embedded: Tensor, uniforms: Tensor, noise: Tensor) -> Tensor:
        """Draw devices int32[samples, groups], one group after the other.

        ``embedded``: float32[groups, features]; ``uniforms``: float32[groups, samples] in [0, 1);
        ``noise``: float32[groups, samples, devices], added to the logits.
        """
        memory, hidden, cell = self.encoder.read(embedded)
        keys, gates = self.decoder.keys(memory), self.decoder.gates()
        groups, samples = uniforms.shape

        def body(
            group: Tensor, last: Tensor, hidden: Tensor, cell: Tensor, kept: TensorArray
        ) -> tuple[Tensor, Tensor, Tensor, Tensor, TensorArray]:
            hidden, cell, attention = self.decoder.step(tf.gather(gates, last), keys, hidden, cell)
            logits = self.logits(hidden, attention, memory, group)
            logits = self.settings.noise.add(logits, noise[group])
            below = tf.cumsum(tf.nn.softmax(logits), -1)[:, :-1] <= uniforms[group][:, None]
            chosen = tf.reduce_sum(tf.cast(below, tf.int32), -1)
            return group + 1, chosen, hidden, cell, kept.write(group, chosen)

        array = tf.TensorArray(tf.int32, groups, element_shape=[samples])
        nothing = tf.fill([samples], self.devices)
        states = tf.repeat(hidden, samples, 0), tf.repeat(cell, samples, 0)
        start = (0, nothing, *states, array)
        *_, kept = tf.while_loop(
            lambda group, *_: group < groups, body, start, maximum_iterations=groups
        )
        devices: Tensor = tf.transpose(kept.stack())
        return devices

    def log_probabilities(self, embedded: Tensor, devices: Tensor) -> Logs:
        """Score placements of groups, int32[samples, groups]; beside, a choice's mean entropy."""
        memory, hidden, cell = self.encoder.read(embedded)
        samples = devices.shape[0]
        chosen = tf.transpose(devices)
        before = tf.concat([tf.fill([1, samples], self.devices), chosen[:-1]], 0)
        states = tf.repeat(hidden, samples, 0), tf.repeat(cell, samples, 0)
        hiddens, attention = self.decoder.run(before, self.decoder.keys(memory), *states)
        logs = tf.nn.log_softmax(self.logits(hiddens, attention, memory, np.s_[:, None]))
        picked = tf.reduce_sum(logs * tf.one_hot(chosen, self.devices), [0, 2])
        return picked, {"entropy": -tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, -1))}


class JointPolicy:
    """One grouping and some device assignments of its groups an update; both networks learn."""

    def __init__(self, graph: ClassGraph, grouper: Grouping, placer: Placer, settings: HDP) -> None:
        """Join the networks."""
        self.graph, self.grouper, self.placer, self.settings = graph, grouper, placer, settings
        weights = [*grouper.variables, *placer.variables]
        self.optimizer = Optimizer(weights, settings.adam_epsilon)
        self._gradients = tf.function(self._climb, jit_compile=True, autograph=False)

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw a grouping, then devices for its groups."""
        [grouping] = self.grouper.sample(rng, 1, update)
        size = self.grouper.groups, self.settings.samples
        uniforms = rng.random(size, np.float32)
        noise = self.settings.noise.draw(rng, (*size, self.placer.devices), update)
        embedded = self.placer.embed.of(grouping)
        drawn = self.placer.draw(*(tf.constant(a) for a in (embedded, uniforms, noise)))
        chosen = np.asarray(drawn.numpy(), np.int32)
        placed = self.graph.placed(chosen[:, grouping])
        return Sample(placed, chosen, {"grouping": grouping, "embedded": embedded})

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        """Follow the gradient of the joint objective once; return what to log."""
        grouping = cast(Ints, sample.shared["grouping"])
        gradients, scalars = self._gradients(
            tf.constant(grouping),
            tf.constant(sample.shared["embedded"]),
            tf.constant(sample.chosen),
            tf.constant(credit.samples, tf.float32),
            tf.constant(credit.shared, tf.float32),
        )
        self.optimizer.apply(gradients, self.settings.rate(update))
        used = len(np.unique(grouping))
        return {name: float(value) for name, value in scalars.items()} | {"groups": used}

    def _climb(
        self, grouping: Tensor, embedded: Tensor, chosen: Tensor, weights: Tensor, shared: Tensor
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Gradients of the negative objective, clipped, and scalars.

        The objective is the expected reward over groupings and, given a grouping, over placements.
        Its gradient follows the log-probability of each placement by its own advantage (equation
        6) and that of the grouping by their sum (equation 4, with one grouping, m = 1).
        """
        with tf.GradientTape() as tape:
            logs, scalars = self.placer.log_probabilities(embedded, chosen)
            log, more = self.grouper.log_probabilities(grouping[None])
            loss = -(tf.reduce_sum(weights * logs) + shared * log[0])
        gradients = tape.gradient(loss, self.optimizer.variables)
        clipped, norm = self._clipped(gradients)
        return clipped, scalars | more | {"gradient_norm": norm}

    def _clipped(self, gradients: Sequence[Tensor]) -> tuple[list[Tensor], Tensor]:
        """Clip the gradients; return the norm that they had together, too."""
        own = len(self.grouper.variables)
        apart = (gradients[:own], gradients[own:]) if self.settings.clip_apart else (gradients,)
        parts = [tf.clip_by_global_norm(part, self.settings.clip)[0] for part in apart if part]
        return [gradient for part in parts for gradient in part], tf.linalg.global_norm(gradients)
