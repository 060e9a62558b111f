"""GraphSAGE (Hamilton et al. 2017), with the aggregator of GDP (Zhou et al. 2019, section 3.1)."""

from __future__ import annotations

import numpy as np

from planners.features.typed_graph import TypedGraph
from planners.nn.backend import tf
from planners.nn.dense import Dense
from planners.nn.tensor import Tensor, Variable
from planners.nn.weights import glorot


class GraphNetwork:
    """Embeds each class with what surrounds it.

    Each hop: h_N(v) = max over neighbours u of sigmoid(W h_u + b); h_v = f(h_v, h_N(v)), f a dense
    layer. Neighbours are producers and readers alike.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        types: int,
        embedding: int,
        shapes: int,
        width: int,
        hops: int,
    ) -> None:
        """Draw the weights; a class has so many numbers about its shapes."""
        self.embeddings = glorot("types", rng, types, embedding)
        self.enter = Dense(rng, embedding + shapes, width)
        self.hops = [(Dense(rng, width, width), Dense(rng, 2 * width, width)) for _ in range(hops)]

    @property
    def variables(self) -> list[Variable]:
        """All weights."""
        dense = [self.enter, *(layer for hop in self.hops for layer in hop)]
        return [self.embeddings, *(variable for layer in dense for variable in layer.variables)]

    def __call__(self, told: TypedGraph) -> Tensor:
        """float32[classes, width]."""
        features = tf.concat([tf.matmul(told.types, self.embeddings), told.shapes], axis=1)
        x = tf.nn.relu(self.enter(features))
        for aggregate, combine in self.hops:
            sent = tf.gather(tf.sigmoid(aggregate(x)), told.senders)
            most = tf.math.unsorted_segment_max(sent, told.receivers, told.count)
            # Without neighbours the maximum is the least float; a sigmoid is never below 0.
            x = tf.nn.relu(combine(tf.concat([x, tf.maximum(most, 0.0)], axis=1)))
        embedded: Tensor = x
        return embedded
