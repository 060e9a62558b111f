"""GDP (Zhou et al., GDP: Generalized Device Placement for Dataflow Graphs, arXiv 1910.01578, 2019).

A graph network (section 3.1, planners/nn/graph_sage.py) tells each operation's surroundings, a
Transformer-XL without positions looks at all operations and gives each its devices' chances, PPO
trains both: on one graph, or on several, for others that it has not seen. The file follows the
paper: the settings; the placer with its segments and superposition (sections 3.2 and 3.3); PPO
(section 3). An operation is a colocation class here (planners/features/class_graph.py), so that no
placement can violate a colocation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from planners.features.typed_graph import TypedGraph, type_names, vocabulary_of
from planners.nn.as_traced import as_traced
from planners.nn.backend import tf, threads
from planners.nn.dense import Dense
from planners.nn.graph_sage import GraphNetwork
from planners.nn.optimizer import Optimizer
from planners.nn.segments import Layer, Segments, normalised
from planners.nn.tensor import Tensor, Variable
from planners.policy_gradient.batch import InTurn, learn_in_turn
from planners.policy_gradient.checks import check_counts, check_positive
from planners.policy_gradient.ppo import draw, mean_entropy, mean_gain, softening
from planners.policy_gradient.reinforce import Reinforce, Sample
from planners.policy_gradient.rewards import Baseline, Credit, minus_root
from planners.policy_gradient.trained import Trained, best_in_training, weights_of
from suite.core.arrays import Bools, Floats, Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.search.training import POLICY_FILE, Learned, Training


@dataclass(frozen=True)
class GDP:
    """What the paper prints: the two networks, the reward, its baseline, PPO.

    It prints no number of them. All sizes, rates and counts are chosen here. Not as printed: a
    node's features lack the ids of its neighbours, which the graph network sees; superposition
    conditions on a dense layer, not on a Transformer's; PPO's ratio is a node's, not a placement's.
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
    learning_rate: float = 0.01
    """Adam's. With a tenth of it, a thousand placements leave the chances of large graphs, and of
    four GPUs and more, almost as they were drawn (docs/planners.md)."""
    failing_reward: float = -10.0
    """Reward of a placement that is out of memory (printed)."""
    policy: str = field(default="", metadata=POLICY_FILE)
    """Policy file (``placebench train``) to start from, with the settings of its network. With 0
    updates every node goes to its likeliest device: one forward pass, nothing is evaluated."""
    remembered: bool = False
    """With 0 updates: the best placement that the policy met of this graph while it was trained."""
    least_entropy: float = 0.75
    """Share of the largest entropy that such a policy's choices have at least, on average, when it
    is fine-tuned: its logits are divided by what that takes. One that has become certain learns
    nothing more. Not in the paper."""
    NETWORK: ClassVar[tuple[str, ...]] = (
        *("type_embedding", "outputs", "dimensions", "width", "hops", "layers", "heads"),
        *("segment", "superposition"),
    )
    """The settings that weights depend on."""

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing (InputError)."""
        check_counts(self, "type_embedding", "outputs", "dimensions", "width", "hops", "heads")
        check_counts(self, "segment", "samples", "epochs")
        check_positive(self, "clip", "learning_rate")
        if self.layers < 0:
            raise InputError(f"layers is {self.layers}; give >= 0")
        if self.width % self.heads:
            raise InputError(f"width {self.width} is no multiple of {self.heads} heads")
        if self.updates < (not self.policy):
            raise InputError(f"updates is {self.updates}; give >= 1, or a policy")
        if self.remembered and (self.updates or not self.policy):
            raise InputError("remembered goes with a policy and 0 updates")
        if not 0 <= self.least_entropy < 1:
            raise InputError(f"least_entropy is {self.least_entropy}; give a share below 1")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest placement found that fits in memory, else one that does not.

        Raises BudgetExhausted when the budget does not allow one update, NativeCrash when METIS
        fails at parts, InputError for a policy file that does not fit, Unsupported when it should
        remember a graph that it was not trained on.
        """
        graph = ClassGraph(problem)
        if not graph.count:
            return Placement.of(problem, np.zeros(0, np.int32))
        if not self.policy:
            return self._search(Networks.of([graph], self, search.rng), graph, search)
        if self.remembered:
            return best_in_training(self.policy, problem, search)
        learned = Trained.load(self, self.NETWORK, problem)
        networks = Networks(learned.settings, learned.vocabulary, learned.devices, search.rng)
        learned.put_into(networks.variables)
        search.note(unknown_types=sum(t not in learned.vocabulary for t in type_names(graph)))
        return learned.settings._search(networks, graph, search)

    def _search(self, networks: Networks, graph: ClassGraph, search: Search) -> Placement:
        policy = self.policy_of(graph, self.nodes(graph, search.rng), networks, alone=True)
        search.note(nodes=policy.count, threads=threads())
        if not self.updates:
            return Placement.of(graph.problem, policy.likeliest())
        if self.policy:
            search.note(logits_divided_by=policy.soften(self.least_entropy))
        return Reinforce(policy, search, self.updates, self.reward, self.baseline()).run()

    def train(self, training: Training) -> Learned:
        """Learn on all graphs, an update on each in turn; the paper has the mean over graphs."""
        graphs = [ClassGraph(search.problem) for search in training.searches]
        networks = Networks.of(graphs, self, training.rng)
        lessons = [
            InTurn(
                self.policy_of(graph, self.nodes(graph, search.rng), networks, alone=False),
                *(search, self.updates, self.reward, self.baseline()),
            )
            for graph, search in zip(graphs, training.searches, strict=True)
        ]
        learn_in_turn(lessons, training)
        return Learned(networks.vocabulary, weights_of(networks.variables))

    def policy_of(
        self, graph: ClassGraph, part_of: Ints, networks: Networks, alone: bool
    ) -> Policy:
        """The networks on a graph: ``alone``, or one of several that they learn on in turn."""
        return Policy(graph, part_of, networks)

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


class Networks:
    """All weights, of no graph in particular, and Adam's memory of them."""

    def __init__(
        self, settings: GDP, vocabulary: tuple[str, ...], devices: int, rng: np.random.Generator
    ) -> None:
        """Draw the weights, for at most so many devices."""
        self.settings, self.vocabulary, width = settings, vocabulary, settings.width
        shapes = settings.outputs * settings.dimensions
        sizes = len(vocabulary), settings.type_embedding, shapes, width, settings.hops
        self.network = GraphNetwork(rng, *sizes)
        self.conditioner = Dense(rng, width, width)
        self.layers = [Layer(rng, width, settings.heads) for _ in range(settings.layers)]
        # All devices alike at first: drawn weights prefer one device for all nodes from the start.
        self.head = Dense(rng, width, devices, silent=True)
        self.optimizer = Optimizer(self.variables)

    @classmethod
    def of(cls, graphs: Sequence[ClassGraph], settings: GDP, rng: np.random.Generator) -> Networks:
        """Those that know all types of some graphs, and have enough devices for each."""
        return cls(settings, vocabulary_of(graphs), max(graph.devices for graph in graphs), rng)

    @property
    def variables(self) -> list[Variable]:
        """All weights that are in use."""
        parts: list[GraphNetwork | Layer | Dense] = [self.network, *self.layers, self.head]
        if self.settings.superposition:
            parts.append(self.conditioner)
        return [variable for part in parts for variable in part.variables]


class Policy:
    """Both networks on one graph: the chances of devices for every node, drawn independently."""

    def __init__(self, graph: ClassGraph, part_of: Ints, networks: Networks) -> None:
        """``part_of``, int64[classes], is the node of each class."""
        self.graph, self.part_of, self.networks = graph, part_of, networks
        settings = self.settings = networks.settings
        self.count = int(part_of.max()) + 1
        self.told = TypedGraph(graph, networks.vocabulary, settings.outputs, settings.dimensions)
        self.segments = Segments(self.count, settings.segment)
        # Nodes stand in topological order, as far as they have one: by the mean of their classes'.
        sums = np.bincount(part_of, graph.leaders, minlength=self.count)
        self.order = np.argsort(sums / np.bincount(part_of, minlength=self.count), kind="stable")
        self.variables, self.optimizer = networks.variables, networks.optimizer
        self.begins_likeliest = False
        self._chances = as_traced(lambda: tf.nn.softmax(self.logits()))
        self._ascend = as_traced(self._gradient)

    def logits(self) -> Tensor:
        """float32[nodes, devices]; the first devices of the networks are those of the graph."""
        networks, x = self.networks, self.embedded()
        # Superposition (section 3.3): what the placer's dense layers read is weighted, feature by
        # feature, by what the graph network says of the node.
        condition: Tensor = tf.ones([])
        if self.settings.superposition:
            condition = 2 * tf.sigmoid(networks.conditioner(x))
        x = self.segments.through(networks.layers, x, condition)
        logits = self.settings.scale(networks.head(condition * normalised(x)))
        back: Tensor = tf.gather(logits[:, : self.graph.devices], np.argsort(self.order))
        return back

    def embedded(self) -> Tensor:
        """float32[nodes, width]: what the graph network says of the nodes, in their order."""
        x = self.networks.network(self.told)
        if self.count < self.graph.count:
            sizes = np.bincount(self.part_of, minlength=self.count)[:, None]
            x = tf.math.unsorted_segment_sum(x, self.part_of, self.count) / np.float32(sizes)
        ordered: Tensor = tf.gather(x, self.order)
        return ordered

    def likeliest(self) -> NDArray[np.int32]:
        """int32[ops]: every node on the device that is likeliest for it."""
        chosen = np.argmax(self._chances().numpy(), axis=1)
        return np.asarray(self.graph.placed(chosen[None, self.part_of])[0], np.int32)

    def soften(self, share: float) -> float:
        """Divide the logits until the mean entropy is so much of the largest; return by what.

        The likeliest devices stay so, and are the first sample.
        """
        self.begins_likeliest = True
        divisor = softening(self.logits().numpy(), share)
        for variable in self.networks.head.variables:
            variable.assign(variable / divisor)
        return divisor

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw the placements of one update."""
        drawn = self._chances().numpy()
        chosen = draw(drawn, self.settings.samples, rng)
        if self.begins_likeliest and not update:
            chosen[0] = np.argmax(drawn, axis=1)
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
            self.optimizer.apply(list(gradients), self.settings.learning_rate)
        return {"gradient_norm": float(norm), "entropy": float(entropy)}

    def _gradient(
        self, chosen: Tensor, old: Tensor, advantages: Tensor, best: Tensor
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        with tf.GradientTape() as tape:
            log_chances = tf.nn.log_softmax(self.logits())
            gain = mean_gain(log_chances, chosen, old, advantages, self.settings.clip)
            loss = -gain - self.settings.objective(log_chances, best)
        gradients = tape.gradient(loss, self.variables)
        return gradients, tf.linalg.global_norm(gradients), mean_entropy(log_chances)
