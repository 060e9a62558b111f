"""The two-level policy: a Grouper (or fixed groups) and the Placer, trained together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from planners._features import GroupFeatures
from planners._grouper import Grouper
from planners._reinforce import Credit, Sample
from planners._seq2seq import Seq2Seq
from planners._settings import Settings
from planners._units import Units
from planners.nn.noise import normal
from planners.nn.optimizer import Optimizer


class Hierarchy:
    """Samples one grouping and ``settings.samples`` device assignments of its groups."""

    def __init__(
        self,
        units: Units,
        grouper: Grouper | NDArray[np.int64],
        groups: int,
        settings: Settings,
        rng: np.random.Generator,
    ) -> None:
        """Create the Placer; ``grouper`` may be a fixed grouping, int64[units]."""
        self.units, self.settings, self.groups = units, settings, groups
        self.grouper = grouper if isinstance(grouper, Grouper) else None
        self.fixed = None if isinstance(grouper, Grouper) else grouper
        self.embed = GroupFeatures(units, settings, groups)
        self.devices = units.problem.machine.n_devices
        self.placer = Seq2Seq((groups, self.embed.width), self.devices, settings, rng)
        own = self.grouper.variables if self.grouper else []
        self.optimizer = Optimizer([*own, *self.placer.variables], settings)
        self._gradients = tf.function(self._climb, jit_compile=True, autograph=False)

    def sample(self, rng: np.random.Generator, update: int) -> Sample:
        """Draw a grouping, then devices for its groups."""
        grouping = self.fixed
        if self.grouper:
            grouping = self.grouper.sample(rng, 1, update)[0]
        assert grouping is not None
        size = self.groups, self.settings.samples
        uniforms = rng.random(size, np.float32)
        noise = normal(rng, (*size, self.devices), self.settings, update)
        embedded = self.embed.of(grouping)
        chosen = self.placer.sample(*(tf.constant(a) for a in (embedded, uniforms, noise))).numpy()
        placed = self.units.placed(chosen[:, grouping])
        return Sample(placed, {"grouping": grouping, "embedded": embedded, "chosen": chosen})

    def learn(
        self, sample: Sample, credit: Credit, elite: NDArray[Any], update: int
    ) -> dict[str, float]:
        """Follow the policy gradient (HDP, equations 4 and 6); return what to log."""
        choices = sample.choices
        # The best placement's devices are learned for the groups as they are now: exact with fixed
        # groups, close where the Grouper has a prior.
        chosen = np.concatenate([choices["chosen"], elite[None]])
        weights = np.append(credit.samples, self.settings.imitation)
        gradients, scalars = self._gradients(
            tf.constant(choices["grouping"]),
            tf.constant(choices["embedded"]),
            tf.constant(chosen),
            tf.constant(weights, tf.float32),
            tf.constant(credit.shared, tf.float32),
        )
        self.optimizer.apply(gradients, update)
        used = len(np.unique(choices["grouping"]))
        return {name: float(value) for name, value in scalars.items()} | {"groups": used}

    def _climb(self, grouping: Any, embedded: Any, chosen: Any, weights: Any, shared: Any) -> Any:
        """Gradients of the negative objective, clipped, and scalars."""
        scalars: dict[str, Any] = {}
        if not self.settings.imitation:
            chosen, weights = chosen[:-1], weights[:-1]
        with tf.GradientTape() as tape:
            logs, scalars["entropy"] = self.placer.log_probabilities(embedded, chosen)
            objective = tf.reduce_sum(weights * logs)
            if self.grouper:
                log, scalars["grouper_entropy"] = self.grouper.log_probabilities(grouping[None])
                objective += shared * log[0]
            loss = -objective
        gradients = tape.gradient(loss, self.optimizer.variables)
        own = len(gradients) - len(self.placer.variables)
        parts = [gradients[:own], gradients[own:]] if self.settings.clip_apart else [gradients]
        clipped = [tf.clip_by_global_norm(part, self.settings.clip) for part in parts if part]
        scalars["gradient_norm"] = clipped[-1][1]
        return [gradient for part, _ in clipped for gradient in part], scalars

    def state(self) -> dict[str, NDArray[Any]]:
        """Weights and moments."""
        return self.optimizer.state()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Put them back."""
        self.optimizer.restore(state)
