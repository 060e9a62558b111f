"""Ablation of HDP: the Simple Planner, without groups (Mirhoseini et al. 2018, section 4.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP, Grouper, op_features
from planners.nn.backend import tf
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor
from planners.policy_gradient.reinforce import Policy, Sample
from planners.policy_gradient.rewards import Credit
from suite.core.arrays import Ints


@dataclass(frozen=True)
class NoGrouping(HDP):
    """A Grouper with one group per device: a feed-forward network places every operation alone."""

    def policy(self, graph: ClassGraph, rng: np.random.Generator) -> tuple[Policy, int]:
        """Create the one network; its groups are the devices."""
        features = op_features(graph, self)
        network = Grouper(features, graph.types, graph.devices, self, rng)
        return FlatPolicy(graph, network, self), graph.devices


class FlatPolicy:
    """A device for every operation alone, drawn by a Grouper whose groups are the devices."""

    def __init__(self, graph: ClassGraph, network: Grouper, settings: HDP) -> None:
        """Prepare the training of the network."""
        self.graph, self.network, self.settings = graph, network, settings
        self.optimizer = Optimizer(network.variables, settings.adam_epsilon)
        self._gradients = tf.function(self._climb, jit_compile=True, autograph=False)

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw placements operation by operation."""
        chosen = self.network.sample(rng, self.settings.samples, update)
        return Sample(self.graph.placed(chosen), chosen, {})

    def learn(
        self, sample: Sample, credit: Credit, best_choices: Ints, update: int
    ) -> dict[str, float]:
        """Follow the policy gradient once; return what to log."""
        weights = tf.constant(credit.samples, tf.float32)
        gradients, scalars = self._gradients(tf.constant(sample.chosen), weights)
        self.optimizer.apply(gradients, self.settings.rate(update))
        return {name: float(value) for name, value in scalars.items()}

    def _climb(self, chosen: Tensor, weights: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Gradients of the negative objective, clipped, and scalars.

        ``chosen``: int64[samples, ops], devices; ``weights``: float32[samples], their advantages.
        """
        with tf.GradientTape() as tape:
            logs, scalars = self.network.log_probabilities(chosen)
            loss = -tf.reduce_sum(weights * logs)
        gradients = tape.gradient(loss, self.optimizer.variables)
        gradients, norm = tf.clip_by_global_norm(gradients, self.settings.clip)
        return gradients, {"entropy": scalars["grouper_entropy"], "gradient_norm": norm}
