"""The networks of Placeto (Addanki et al. 2019, section 3.1): messages in both directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from planners.nn.backend import tf
from planners.nn.optimizer import Optimizer
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot, zeros


class Perceptron:
    """One hidden layer, with rectifiers."""

    def __init__(self, rng: np.random.Generator, inputs: int, hidden: int, outputs: int) -> None:
        """Draw weights."""
        self.variables: list[Variable] = [
            *(glorot("hidden", rng, inputs, hidden), zeros("hidden bias", hidden)),
            *(glorot("out", rng, hidden, outputs), zeros("out bias", outputs)),
        ]

    def __call__(self, x: Tensor) -> Tensor:
        """float32[..., outputs] of float32[..., inputs], before any rectifier."""
        hidden, hidden_bias, out, out_bias = self.variables
        y: Tensor = tf.matmul(tf.nn.relu(tf.matmul(x, hidden) + hidden_bias), out) + out_bias
        return y


class MessagePassing:
    """All weights, of no graph in particular, and Adam's memory of them.

    Messages: x <- x0 + g(mean over neighbours of f(x)), some rounds each for producers and for
    readers, with networks of their own for either. Summaries of three regions around a node, those
    that lead to it, that it leads to, and the others: h(mean of g). The paper sums where these are
    means: after eight rounds of sums the first logits are 10^4 to 10^7, and the policy is certain
    before it learns.
    """

    def __init__(
        self, rng: np.random.Generator, features: int, options: int, width: int, rounds: int
    ) -> None:
        """Draw the weights of networks that choose among so many options."""
        self.width, self.rounds, self.options = width, rounds, options
        self.enter = Perceptron(rng, features, width, width)
        self.messages = [[Perceptron(rng, width, width, width) for _ in "fg"] for _ in "du"]
        self.summaries = [
            [Perceptron(rng, 2 * width, width, width), Perceptron(rng, width, width, width)]
            for _ in ("before", "after", "beside")
        ]
        self.choose = Perceptron(rng, 2 * width + 3 * width, width, options)
        parts = [self.enter, self.choose]
        for pair in [*self.messages, *self.summaries]:
            parts += pair
        self.variables = [variable for part in parts for variable in part.variables]
        self.optimizer = Optimizer(self.variables)

    @property
    def last(self) -> list[Variable]:
        """The weights that the logits are proportional to."""
        return self.choose.variables[2:]

    def __call__(
        self,
        features: Tensor,
        current: Tensor,
        neighbours: Sequence[NDArray[np.float32]],
        regions: Sequence[NDArray[np.float32]],
    ) -> Tensor:
        """float32[states, options], logits, of float32[states, nodes, features].

        ``current``, int64[states], is the node that is asked about; ``neighbours``, of either
        direction, and ``regions`` are float32[nodes, nodes], whose rows take means.
        """
        start = tf.nn.relu(self.enter(features))
        ways = []
        for (f, g), means in zip(self.messages, neighbours, strict=True):
            x = start
            for _ in range(self.rounds):
                x = start + tf.nn.relu(g(tf.matmul(means, tf.nn.relu(f(x)))))
            ways.append(x)
        embedding = tf.concat(ways, axis=2)
        found = [tf.gather(embedding, current, axis=1, batch_dims=1)]
        for (g, h), region in zip(self.summaries, regions, strict=True):
            rows = tf.gather(region, current)[:, None]
            found.append(tf.nn.relu(h(tf.matmul(rows, tf.nn.relu(g(embedding)))))[:, 0])
        chosen: Tensor = self.choose(tf.concat(found, axis=1))
        return chosen
