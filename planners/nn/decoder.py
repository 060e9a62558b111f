"""The decoder of a sequence-to-sequence network: an LSTM with content-based attention.

Attention's answer does not go back into the LSTM (HDP's released code), so all steps of a given
sequence are scored without any loop but the LSTM's own.
"""

from __future__ import annotations

import numpy as np

from planners.nn.attention import score, scores
from planners.nn.backend import tf
from planners.nn.lstm import advance, lstm, with_forget_bias
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros


class Decoder:
    """Writes one of ``symbols`` a step, and feeds it to the next as a learned embedding."""

    def __init__(
        self, symbols: int, units: int, forget_bias: float, rng: np.random.Generator
    ) -> None:
        """Create the weights."""
        self.forget_bias = forget_bias
        # The last row stands for "no symbol yet".
        self.embedding = glorot("decoder/devices", rng, symbols + 1, units)
        self.input = glorot("decoder/input", rng, units, 4 * units)
        self.kernel = glorot("decoder/hidden", rng, units, 4 * units)
        self.bias = zeros("decoder/bias", 4 * units)
        self.query = glorot("attention/query", rng, units, units)
        self.key = glorot("attention/key", rng, units, units)
        self.weight = glorot("attention/weight", rng, units, 1)

    @property
    def variables(self) -> list[Variable]:
        """All weights, in a fixed order."""
        own = self.embedding, self.input, self.kernel, self.bias
        return [*own, self.query, self.key, self.weight]

    def gates(self) -> Tensor:
        """What each previous symbol adds to the gates: float32[symbols + 1, 4 units]."""
        return self.embedding @ self.input + with_forget_bias(self.bias, self.forget_bias)

    def keys(self, memory: Tensor) -> Tensor:
        """What attention compares with: float32[keys, units], of ``memory``, the same shape."""
        return memory @ self.key

    def step(
        self, gates: Tensor, keys: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Go one step: hidden and cell state, float32[batch, units], attention [batch, keys].

        ``gates``: float32[batch, 4 units], those of the previous symbols.
        """
        _, cell, hidden = advance(gates, self.kernel, hidden, cell)
        return hidden, cell, score(hidden @ self.query, keys, self.weight[:, 0])

    def run(
        self, previous: Tensor, keys: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        """All steps: hidden states float32[steps, batch, units], attention [steps, batch, keys].

        ``previous``: int32[steps, batch], the symbol before each step.
        """
        hiddens, _ = lstm(tf.gather(self.gates(), previous), self.kernel, hidden, cell)
        return hiddens, scores(hiddens @ self.query, keys, self.weight[:, 0])
