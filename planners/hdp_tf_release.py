"""HDP with the sizes, features and schedule of the code that its authors released.

tensorflow/python/grappler/hierarchical_controller.py (TensorFlow 1.7 to 1.13), with its defaults.
That code scores other placements than those it judged, and so has no learning signal
(docs/planners.md); here what is judged is scored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from planners.features.tables import Matrix, output_shapes
from planners.hdp import HDP, GroupEmbedding, Grouper
from planners.nn.backend import tf
from planners.nn.noise import Noise
from planners.nn.tensor import Tensor, Variable
from planners.policy_gradient.checks import check_counts
from planners.policy_gradient.reinforce import Policy, Reinforce
from suite.core.arrays import Ints
from suite.search.placer import Search


@dataclass(frozen=True)
class TFRelease(HDP):
    """Other features, fewer groups, larger LSTMs, other noise, one sample an update."""

    groups_per_device: int = 20
    """At most this many groups per device are offered."""
    type_embedding: int = 1
    """The number of an operation's type is a feature; nothing is learned of it."""
    outputs: int = 5
    """Outputs of an operation whose shapes are features; the paper has 6."""
    dimensions: int = 5
    """Dimensions of each of them; the paper has 4."""
    adjacency: int = 20
    """Numbers that describe an operation's neighbours: pairs of (neighbour, +1 or -1)."""
    op_scale: str = "raw"
    """Features are not scaled, so the Grouper's softmax is saturated from the start."""
    group_scale: str = "row_max"
    """A group's features are divided by their maximum + 1."""
    hidden: int = 512
    """Units of the decoder; the paper has 256."""
    temperature: float = 1.0
    """T of softmax(C tanh(logits / T)); the paper has 10."""
    tanh_constant: float = 1.0
    """C of softmax(C tanh(logits / T)); the paper has 5."""
    samples: int = 1
    """Placements per update; the paper has 4."""
    adam_epsilon: float = 1e-8
    """TensorFlow's default, which the code does not change."""
    clip_apart: bool = False
    """Both networks' gradients by their common norm."""
    rate_decay: float = 0.95
    """Factor on the learning rate every 50 updates from ``rate_decay_after`` on."""
    rate_decay_after: int = 400
    """See ``rate_decay``."""
    noise_size: float = 0.5
    """Deviation of the noise, as a share of the logits' root mean square."""
    noise_updates: int = 750
    """Updates with this noise; the paper has 500."""
    baseline_start: str = "failing"
    """The moving average of rewards starts at the reward of an invalid placement."""
    valid_only_after: int = 1000
    """Updates after which only valid placements count; the paper has 500."""
    stop_sampling: int = 500
    """Update from which the last placement is scored again instead of a new one (0: never)."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        super().__post_init__()
        check_counts(self, "groups_per_device")

    def grouper(self, graph: ClassGraph, rng: np.random.Generator) -> Grouper:
        """Create a Grouper that sees the types as numbers, with groups for this many devices."""
        groups = min(self.groups, self.groups_per_device * graph.devices)
        return _Grouper(op_features(graph, self), graph.types, groups, self, rng)

    def group_embedding(self, graph: ClassGraph, groups: int) -> GroupEmbedding:
        """Prepare the embedding of groups, with counts of edges."""
        return _GroupEmbedding(graph, groups, self)

    @property
    def noise(self) -> Noise:
        """Of both networks."""
        return _Noise(self.noise_size, self.noise_updates)

    def rate(self, update: int) -> float:
        """Adam's learning rate at this update."""
        decays = max(0, update - self.rate_decay_after) // 50
        return self.learning_rate * self.rate_decay**decays

    def reinforce(self, policy: Policy, search: Search) -> Reinforce:
        """Prepare the training of ``policy``."""
        settings = self.updates, self.reward, self.baseline(), self.stop_sampling
        return Reinforce(policy, search, *settings)


def op_features(graph: ClassGraph, settings: HDP) -> Matrix:
    """Output shapes padded with -1, then signed neighbours: float32[ops, features]."""
    shapes = output_shapes(graph, settings.outputs, settings.dimensions)
    return np.concatenate([shapes, signed_neighbours(graph, settings.adjacency)], axis=1)


def signed_neighbours(graph: ClassGraph, width: int) -> Matrix:
    """(operation, +1 reader or -1 producer) in topological order, padded with 0: [ops, width]."""
    table = np.zeros((graph.count, width), np.float32)
    for op in range(graph.count):
        pairs: list[float] = []
        for (offsets, near), sign in ((graph.predecessors, -1), (graph.successors, 1)):
            for other in near[offsets[op] : offsets[op + 1]][: width // 2]:
                pairs += [other, sign]
        table[op, : len(pairs[:width])] = pairs[:width]
    return table


class _Grouper(Grouper):
    """Sees the number of a type instead of a learned embedding."""

    def __init__(
        self, features: Matrix, types: Ints, groups: int, settings: HDP, rng: np.random.Generator
    ) -> None:
        self.numbers = tf.constant(types[:, None], tf.float32)
        super().__init__(features, types, groups, settings, rng)

    @property
    def variables(self) -> list[Variable]:
        return super().variables[1:]

    def inputs(self) -> Tensor:
        inputs: Tensor = tf.concat([self.numbers, self.features], 1)
        return inputs


class _GroupEmbedding(GroupEmbedding):
    """Counts the edges to and from every group."""

    def adjacency(self, sources: Ints, targets: Ints) -> list[Matrix]:
        counts = self.edge_counts(sources, targets)
        return [counts.astype(np.float32), counts.T.astype(np.float32)]


class _Noise(Noise):
    """Normal noise whose deviation is a share of the logits' root mean square."""

    def scaled(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        return values

    def add(self, logits: Tensor, noise: Tensor | NDArray[np.float32]) -> Tensor:
        size: Tensor = self.size * tf.sqrt(tf.reduce_mean(logits**2))
        return logits + size * noise
