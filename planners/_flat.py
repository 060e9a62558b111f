"""The flat policy: a device for every operation alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from planners._grouper import Grouper
from planners._reinforce import Credit, Sample
from planners._settings import Settings
from planners._units import Units
from planners.nn.optimizer import Optimizer


class Flat:
    """A Grouper whose groups are the devices, trained with REINFORCE."""

    def __init__(self, units: Units, settings: Settings, rng: np.random.Generator) -> None:
        """Create the network."""
        self.units, self.settings = units, settings
        self.network = Grouper(units, units.problem.machine.n_devices, settings, rng)
        self.optimizer = Optimizer(self.network.variables, settings)
        self._gradients = tf.function(self._climb, jit_compile=True, autograph=False)

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw placements operation by operation."""
        chosen = self.network.sample(rng, self.settings.samples, update)
        return Sample(self.units.placed(chosen), {"chosen": chosen})

    def learn(
        self, sample: Sample, credit: Credit, elite: NDArray[Any], update: int
    ) -> dict[str, float]:
        """Follow the policy gradient once; return what to log."""
        chosen = np.concatenate([sample.choices["chosen"], elite[None]])
        weights = np.append(credit.samples, self.settings.imitation)
        gradients, scalars = self._gradients(tf.constant(chosen), tf.constant(weights, tf.float32))
        self.optimizer.apply(gradients, update)
        return {name: float(value) for name, value in scalars.items()}

    def _climb(self, chosen: Any, weights: Any) -> Any:
        """Gradients of the negative objective, clipped, and scalars."""
        with tf.GradientTape() as tape:
            logs, entropy = self.network.log_probabilities(chosen)
            loss = -tf.reduce_sum(weights * logs)
        gradients = tape.gradient(loss, self.optimizer.variables)
        gradients, norm = tf.clip_by_global_norm(gradients, self.settings.clip)
        return gradients, {"entropy": entropy, "gradient_norm": norm}

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights and moments."""
        return self.optimizer.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put them back."""
        self.optimizer.restore(state)
