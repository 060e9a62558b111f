"""The Placer: a sequence-to-sequence policy over groups of operations (HDP, section 3.2).

A bidirectional LSTM reads the groups' embeddings; an LSTM with content-based attention writes one
device per group, each choice fed to the next step as a learned embedding. The attention's answer
goes to the softmax but not back into the LSTM (released code), so the log-probabilities of given
placements need no loop but the LSTM's own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from planners._settings import Settings
from planners.nn.attention import score, scores
from planners.nn.lstm import advance, lstm
from planners.nn.noise import perturb
from planners.nn.weights import Tensor, glorot, zeros


class Seq2Seq:
    """Chooses one of ``devices`` for each of a sequence of embedded groups."""

    def __init__(
        self,
        shape: tuple[int, int],
        devices: int,
        settings: Settings,
        rng: np.random.Generator,
    ) -> None:
        """Create the weights for embedded groups of this ``shape``, (groups, features)."""
        groups, features = shape
        units, half = settings.hidden, settings.hidden // 2
        self.devices, self.settings = devices, settings
        self.sides = [
            (
                glorot(f"encoder/{side}/input", rng, features, 4 * half),
                glorot(f"encoder/{side}/hidden", rng, half, 4 * half),
                zeros(f"encoder/{side}/bias", 4 * half),
            )
            for side in ("forward", "backward")
        ]
        # The last row stands for "no device yet".
        self.embedding = glorot("decoder/devices", rng, devices + 1, units)
        self.input = glorot("decoder/input", rng, units, 4 * units)
        self.kernel = glorot("decoder/hidden", rng, units, 4 * units)
        self.bias = zeros("decoder/bias", 4 * units)
        self.query = glorot("attention/query", rng, units, units)
        self.key = glorot("attention/key", rng, units, units)
        self.weight = glorot("attention/weight", rng, units, 1)
        self.output = glorot("softmax", rng, 2 * units, devices)
        self.table = zeros("table", groups, devices)
        self.sample = tf.function(self._sample, jit_compile=True, autograph=False)

    @property
    def variables(self) -> list[Any]:
        """All weights, in a fixed order."""
        own = (self.embedding, self.input, self.kernel, self.bias)
        attention = (self.query, self.key, self.weight, self.output)
        table = [self.table] if self.settings.table else []
        return [*table, *(v for side in self.sides for v in side), *own, *attention]

    def _encode(self, groups: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read float32[groups, features]: memory [groups, units], last hidden and cell [units]."""
        results = []
        for (kernel, recurrent, bias), step in zip(self.sides, (1, -1), strict=True):
            half = recurrent.shape[0]
            gates = (groups[::step] @ kernel + self._forget(bias))[:, None]
            nothing = tf.zeros([1, half])
            hidden, cell = lstm(gates, recurrent, nothing, nothing)
            results.append((hidden[::step, 0], hidden[-1], cell))
        memory, hidden, cell = (tf.concat(parts, -1) for parts in zip(*results, strict=True))
        return memory, hidden, cell

    def _forget(self, bias: Any) -> Tensor:
        """Add the constant to the forget gate's quarter of a bias."""
        quarter = bias.shape[0] // 4
        constant = np.zeros(4 * quarter, np.float32)
        constant[quarter : 2 * quarter] = self.settings.forget_bias
        return bias + constant

    def _gates(self) -> Tensor:
        """What each previous device adds to the decoder's gates: float32[devices + 1, 4 units]."""
        return self.embedding @ self.input + self._forget(self.bias)

    def _logits(self, hidden: Tensor, attention: Tensor, memory: Tensor, bonus: Tensor) -> Tensor:
        """Turn hidden states and attention scores, [..., units] and [..., groups], into logits.

        ``bonus``, [..., devices], comes from the table.
        """
        context = tf.tensordot(tf.nn.softmax(attention), memory, 1)
        logits = tf.tensordot(tf.concat([hidden, context], -1), self.output, 1)
        logits = logits / self.settings.temperature + bonus
        bound = self.settings.tanh_constant
        return bound * tf.tanh(logits) if bound else logits

    def _sample(self, groups: Tensor, uniforms: Tensor, noise: Tensor) -> Tensor:
        """Draw devices int32[samples, groups], one group after the other.

        ``groups``: float32[groups, features]; ``uniforms``: float32[groups, samples] in [0, 1);
        ``noise``: float32[groups, samples, devices], added to the
        logits (:mod:`planners.nn.noise`).
        """
        memory, hidden, cell = self._encode(groups)
        keys, table = memory @ self.key, self._gates()
        bonus = self.settings.table * self.table
        steps, samples = uniforms.shape

        def body(step: Tensor, last: Tensor, hidden: Tensor, cell: Tensor, kept: Any) -> Any:
            _, cell, hidden = advance(tf.gather(table, last), self.kernel, hidden, cell)
            attention = score(hidden @ self.query, keys, self.weight[:, 0])
            logits = self._logits(hidden, attention, memory, bonus[step])
            logits = perturb(logits, noise[step], self.settings)
            below = tf.cumsum(tf.nn.softmax(logits), -1)[:, :-1] <= uniforms[step][:, None]
            chosen = tf.reduce_sum(tf.cast(below, tf.int32), -1)
            return step + 1, chosen, hidden, cell, kept.write(step, chosen)

        array = tf.TensorArray(tf.int32, steps, element_shape=[samples])
        start = tf.fill([samples], self.devices)
        states = tf.repeat(hidden, samples, 0), tf.repeat(cell, samples, 0)
        *_, kept = tf.while_loop(
            lambda step, *_: step < steps,
            body,
            (0, start, *states, array),
            maximum_iterations=steps,
        )
        return tf.transpose(kept.stack())

    def log_probabilities(self, groups: Tensor, devices: Tensor) -> tuple[Tensor, Tensor]:
        """Score given placements: log-probability [samples], and mean entropy of a choice.

        ``groups``: float32[groups, features]; ``devices``: int32[samples, groups].
        """
        memory, hidden, cell = self._encode(groups)
        samples = devices.shape[0]
        chosen = tf.transpose(devices)
        before = tf.concat([tf.fill([1, samples], self.devices), chosen[:-1]], 0)
        states = tf.repeat(hidden, samples, 0), tf.repeat(cell, samples, 0)
        hiddens, _ = lstm(tf.gather(self._gates(), before), self.kernel, *states)
        attention = scores(hiddens @ self.query, memory @ self.key, self.weight[:, 0])
        bonus = self.settings.table * self.table[:, None]
        logs = tf.nn.log_softmax(self._logits(hiddens, attention, memory, bonus))
        picked = tf.reduce_sum(logs * tf.one_hot(chosen, self.devices), [0, 2])
        return picked, -tf.reduce_mean(tf.reduce_sum(tf.exp(logs) * logs, -1))
