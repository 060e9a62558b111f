"""A graph as a network that knows several of them is told of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planners.features.class_graph import ClassGraph
from planners.features.tables import output_shapes, standard


class TypedGraph:
    """Types by a vocabulary of several graphs, output shapes, who exchanges tensors with whom."""

    def __init__(
        self, graph: ClassGraph, vocabulary: Sequence[str], outputs: int, dimensions: int
    ) -> None:
        """Make the tables: ``types``, float32[classes, types], ``shapes``, float32[classes, ...].

        A type that is not in the vocabulary has a row of zeros. Shapes are compared with those of
        the same graph. ``senders`` and ``receivers``, int32[2 edges], have each edge both ways.
        """
        self.count = graph.count
        number = {name: i for i, name in enumerate(vocabulary)}
        self.types = np.zeros((graph.count, len(vocabulary)), np.float32)
        for i, name in enumerate(type_names(graph)):
            if name in number:
                self.types[i, number[name]] = 1
        self.shapes = standard(output_shapes(graph, outputs, dimensions))
        sources, targets = graph.edges
        self.senders = np.concatenate([sources, targets])
        self.receivers = np.concatenate([targets, sources])


def type_names(graph: ClassGraph) -> list[str]:
    """The operation type of each class."""
    return [graph.problem.graph.op_types[op] for op in graph.leaders]


def vocabulary_of(graphs: Sequence[ClassGraph]) -> tuple[str, ...]:
    """All types of some graphs, sorted."""
    return tuple(sorted({name for graph in graphs for name in type_names(graph)}))
