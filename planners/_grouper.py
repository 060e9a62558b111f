"""The Grouper: a feed-forward softmax over groups, for every operation alone (HDP, section 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from planners._features import op_features
from planners._settings import Settings
from planners._units import Units
from planners.nn.noise import normal, perturb
from planners.nn.weights import Tensor, glorot, zeros


class Grouper:
    """Assigns each unit of a graph to one of ``groups``."""

    def __init__(
        self,
        units: Units,
        groups: int,
        settings: Settings,
        rng: np.random.Generator,
        prior: NDArray[np.int64] | None = None,
    ) -> None:
        """Create the weights.

        ``prior``, int64[units]: a grouping to start from; ``settings.prior`` is added to its
        logits.
        """
        self.groups, self.settings, self.prior = groups, settings, prior
        self.units = units.count
        features = op_features(units, settings)
        self._features = tf.constant(features)
        self._types = tf.constant(np.minimum(units.types, _TYPES - 1), tf.int32)
        kinds = int(units.types.max()) + 1
        width = features.shape[1] + settings.type_embedding
        self._embedding = glorot("types", rng, min(kinds, _TYPES), max(1, settings.type_embedding))
        self._hidden = glorot("grouper/hidden", rng, width, settings.grouper_hidden)
        self._bias = zeros("grouper/bias", settings.grouper_hidden)
        self._output = glorot("grouper/softmax", rng, settings.grouper_hidden, groups)
        self._draw = tf.function(self._sample, autograph=False)

    @property
    def variables(self) -> list[Any]:
        """All weights, in a fixed order."""
        embedding = [self._embedding] if self.settings.type_embedding else []
        return [*embedding, self._hidden, self._bias, self._output]

    def _logits(self) -> Tensor:
        """float32[units, groups]."""
        inputs = self._features
        if self.settings.type_embedding:
            inputs = tf.concat([tf.gather(self._embedding, self._types), inputs], 1)
        hidden = inputs @ self._hidden + self._bias
        if self.settings.grouper_activation == "relu":
            hidden = tf.nn.relu(hidden)
        logits = hidden @ self._output
        if self.prior is None:
            return logits
        return logits + self.settings.prior * tf.one_hot(self.prior, self.groups)

    def _sample(self, seed: Tensor, samples: int, noise: Any) -> Tensor:
        logits = self._logits()
        if noise is not None:
            logits = perturb(logits, noise, self.settings)
        drawn = tf.random.stateless_categorical(logits, samples, seed, tf.int64)
        return tf.transpose(drawn)

    def sample(self, rng: np.random.Generator, samples: int, update: int) -> NDArray[np.int64]:
        """Draw groupings, int64[samples, units], with the noise of this update."""
        noise = None
        if update < self.settings.noise_updates:
            noise = normal(rng, (self.units, self.groups), self.settings, update)
        seed = rng.integers(0, 2**31 - 1, 2).astype(np.int32)
        return np.asarray(self._draw(tf.constant(seed), samples, noise).numpy())

    def log_probabilities(self, groupings: Tensor) -> tuple[Tensor, Tensor]:
        """Score groupings int64[samples, units]: log-probability [samples], entropy of a choice."""
        logits = self._logits()
        logs = tf.nn.log_softmax(logits)
        picked = tf.reduce_sum(tf.gather(logs, tf.transpose(groupings), batch_dims=1), 0)
        return picked, -tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, -1))


_TYPES = 200
"""Operation types told apart (HDP, section 3.1: the 200 most common)."""
