"""HSDAG's graph (Duan et al., NeurIPS 2024, section 2): nodes, and what they are told of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from planners.features.class_graph import ClassGraph
from planners.features.fractal_dimension import fractal_dimensions
from planners.features.tables import Matrix, output_shapes, standard
from suite.core.arrays import Ints

Numbers = NDArray[np.int64]
FEATURES = ("type", "in_degree", "out_degree", "fractal", "position", "shape")
COARSENINGS = ("chain", "only_parent", "none")
"""What is one node: an only child with the parent whose only child it is; a node with its only
parent, whatever other children that has; nothing."""


@dataclass(frozen=True, eq=False)
class Coarse:
    """The coarsened graph: nodes in topological order, as far as they have one."""

    classes: ClassGraph
    of_class: Numbers
    """int64[classes]: the node of each."""
    count: int

    @classmethod
    def of(cls, classes: ClassGraph, rule: str) -> Coarse:
        """Join parents and children by a rule of COARSENINGS."""
        sources, targets = classes.edges
        only_parent = np.bincount(targets, minlength=classes.count)[targets] == 1
        only_child = np.bincount(sources, minlength=classes.count)[sources] == 1
        joined = only_parent & only_child if rule == "chain" else only_parent & (rule != "none")
        count, of_class = components(classes.count, sources[joined], targets[joined])
        return cls(classes, of_class, count)

    @cached_property
    def edges(self) -> tuple[Numbers, Numbers]:
        """Source and target of each pair of nodes that exchanges a tensor, int64[edges] each."""
        ends = np.stack([self.of_class[end] for end in self.classes.edges]).reshape(2, -1)
        pairs = np.unique(ends[:, ends[0] != ends[1]], axis=1)
        return pairs[0], pairs[1]

    def placed(self, devices: Ints, scramble: bool) -> NDArray[np.int32]:
        """Turn node devices, int[samples, nodes], into operation devices, int32[samples, ops]."""
        chosen = devices[:, self.of_class]
        if scramble:
            chosen = chosen[:, np.random.default_rng(0).permutation(self.classes.count)]
        return self.classes.placed(chosen)


def components(count: int, sources: Ints, targets: Ints) -> tuple[int, Numbers]:
    """How many parts the edges leave, and the part of each node, numbered by its first node."""
    matrix = coo_array((np.ones(len(sources)), (sources, targets)), shape=(count, count))
    parts, labels = connected_components(matrix, directed=False)
    order = np.argsort(np.unique(labels, return_index=True)[1])
    rank = np.empty(parts, np.int64)
    rank[order] = np.arange(parts)
    return int(parts), rank[labels]


def node_features(graph: Coarse, names: Sequence[str], position_size: int) -> Matrix:
    """float32[nodes, features]: the features named, in the order of FEATURES (section 2)."""
    count, (sources, targets) = graph.count, graph.edges

    def one_hot(values: Ints) -> Matrix:
        kinds, index = np.unique(values, return_inverse=True)
        return np.eye(len(kinds), dtype=np.float32)[index]

    def types() -> Matrix:
        each = np.eye(int(graph.classes.types.max()) + 1)[graph.classes.types]
        sums = np.zeros((count, each.shape[1]))
        np.add.at(sums, graph.of_class, each)
        return np.asarray(sums / sums.sum(axis=1, keepdims=True), np.float32)

    def shapes() -> Matrix:
        # What leaves a chain is made by its last class.
        last = np.zeros(count, np.int64)
        np.maximum.at(last, graph.of_class, np.arange(graph.classes.count))
        return standard(output_shapes(graph.classes, 1, 4))[last]

    made: dict[str, Callable[[], NDArray[np.floating]]] = {
        "type": types,
        "in_degree": lambda: one_hot(np.bincount(targets, minlength=count)),
        "out_degree": lambda: one_hot(np.bincount(sources, minlength=count)),
        "fractal": lambda: fractal_dimensions(count, sources, targets)[:, None],
        "position": lambda: positions(count, position_size),
        "shape": shapes,
    }
    columns = [made[name]() for name in FEATURES if name in names]
    return np.concatenate(columns, axis=1).astype(np.float32)


def positions(count: int, size: int) -> Matrix:
    """Each node's number: float32[count, size], as sines and cosines, or [count, 1] as it is."""
    number = np.arange(count)[:, None]
    if not size:
        return number.astype(np.float32)
    angles = number / 10_000 ** (np.arange(size) // 2 * 2 / size)
    return np.where(np.arange(size) % 2, np.cos(angles), np.sin(angles)).astype(np.float32)
