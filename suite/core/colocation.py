"""Co-location groups: the heuristics by which ColocRL shrinks a graph before it places it.

ColocRL (Mirhoseini et al. 2017), section 3.3: (a) TensorFlow's own co-location, outputs with their
gradients; (b) what is read by a single operation goes with that one, repeated on groups until
nothing changes; (c) rules for each model, which live with the models (``Model.block``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.graph import OpGraph

Rule = Callable[[str], str | None]
"""The hand-made group of a forward operation by its name; None: it has none."""


def colocation_groups(graph: OpGraph, rule: Rule | None = None) -> NDArray[np.int64]:
    """Group the operations: int64[ops], groups numbered by their first operation.

    Every colocation class is whole in one group. Without a ``rule``, only (a) and (b) apply.

    A gradient goes with the operation it differentiates and, by the scope in its name, with that
    operation's hand-made group, so that forward and backward share groups: of the readings we
    tried, the one whose numbers of groups come nearest to the paper's (docs/colocation.md). Tensors
    without bytes (control edges) are no outputs in the sense of (b). (a) and (c) are applied before
    (b), which then cannot tear a hand-made group's last operation away from the group.
    """
    parts = Partition(graph.n_ops)
    ops = graph.classes[1]
    for a, b in _neighbours(graph.colocation[ops], ops):
        parts.join(a, b)
    _join_gradients(graph, parts)
    if rule is not None:
        _join_blocks(graph, rule, parts)
    labels = parts.labels()
    tensors, readers = graph.edges
    sized = graph.tensor_bytes[tensors] > 0
    edges = labels[graph.producer[tensors[sized]]], labels[readers[sized]]
    return _numbered(solely_read(int(labels.max(initial=-1)) + 1, *edges)[labels])


def solely_read(nodes: int, sources: Ints, readers: Ints) -> NDArray[np.int64]:
    """Merge each node that a single other one reads into that one, until there is none left.

    ``sources`` and ``readers`` (int[edges] each) say who reads whom. Returns a label per node,
    int64[nodes]. The order of merging does not matter: a node's only reader stays its only reader,
    whatever else is merged, until they are one. Each merge moves the smaller node's edges.
    """
    pairs = np.unique(np.stack([sources, readers]), axis=1)
    graph = _Merging(nodes, pairs[:, pairs[0] != pairs[1]].T.tolist())
    waiting = list(range(nodes))
    while waiting:
        node = waiting.pop()
        if len(graph.readers[node]) == 1:
            (reader,) = graph.readers[node]
            waiting += graph.merge(node, reader)
    return graph.parts.labels()


class Partition:
    """Disjoint sets of 0..n-1 that can only grow together."""

    def __init__(self, n: int) -> None:
        """Start with every number alone."""
        self.parent = list(range(n))

    def root(self, i: int) -> int:
        """Return the number that stands for the set of ``i``."""
        while self.parent[i] != i:
            self.parent[i] = i = self.parent[self.parent[i]]
        return i

    def join(self, i: int, j: int) -> None:
        """Unite the sets of ``i`` and ``j``; the latter's root stands for both."""
        self.parent[self.root(i)] = self.root(j)

    def labels(self) -> NDArray[np.int64]:
        """int64[n]: sets numbered by their first member."""
        return _numbered(np.array([self.root(i) for i in range(len(self.parent))], np.int64))


class _Merging:
    """A directed graph whose nodes are merged two by two."""

    def __init__(self, nodes: int, edges: Iterable[tuple[int, int]]) -> None:
        self.parts = Partition(nodes)
        self.sources: list[set[int]] = [set() for _ in range(nodes)]
        self.readers: list[set[int]] = [set() for _ in range(nodes)]
        for source, reader in edges:
            self.readers[source].add(reader)
            self.sources[reader].add(source)

    def merge(self, a: int, b: int) -> list[int]:
        """Merge two nodes; return those that may have a single reader since."""
        gone, kept = sorted((a, b), key=lambda i: len(self.sources[i]) + len(self.readers[i]))
        self.parts.join(gone, kept)
        changed = sorted(self.sources[gone])
        for here, there in ((self.sources, self.readers), (self.readers, self.sources)):
            for other in here[gone]:
                there[other].discard(gone)
                there[other].add(kept)
            here[kept] |= here[gone]
            here[gone] = set()
        for ends in (self.sources[kept], self.readers[kept]):
            ends -= {gone, kept}
        return [*changed, kept]


def forward_name(name: str) -> str:
    """Drop what TensorFlow puts before the scope that a gradient's name repeats."""
    return re.sub(r"^(ConstantFolding/)?(gradients/|gradient_tape/)?", "", name)


def _join_gradients(graph: OpGraph, parts: Partition) -> None:
    """Rule (a): ``gradients/X_grad/...`` (tf.gradients), ``gradient_tape/X/...`` (GradientTape)."""
    index = {name: i for i, name in enumerate(graph.op_names)}
    for i, name in enumerate(graph.op_names):
        of = re.match(r"(?:ConstantFolding/)?(?:gradients/(.+)_grad|gradient_tape/(.+))/", name)
        differentiated = index.get(of[1] or of[2]) if of else None
        if differentiated is not None:
            parts.join(i, differentiated)


def _join_blocks(graph: OpGraph, rule: Rule, parts: Partition) -> None:
    """Rule (c)."""
    first: dict[str, int] = {}
    for i, name in enumerate(graph.op_names):
        block = rule(forward_name(name))
        if block is not None:
            parts.join(i, first.setdefault(block, i))


def _neighbours(keys: Ints, values: Ints) -> Iterable[tuple[int, int]]:
    """Pairs of successive values that have the same key."""
    same = np.flatnonzero(keys[1:] == keys[:-1])
    return zip(values[same].tolist(), values[same + 1].tolist(), strict=True)


def _numbered(labels: Ints) -> NDArray[np.int64]:
    """The same partition, numbered 0..n-1 by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
