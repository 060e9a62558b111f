"""The graph as the planners see it: one node per colocation class, which no placement splits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints, csr
from suite.core.problem import Problem


@dataclass(frozen=True, eq=False)
class ClassGraph:
    """Colocation classes as the operations of the papers; each stands for its first operation.

    In TensorFlow 1 a variable's reads and updates were operations of their own, placed with the
    variable; here they are one class, and the class is what a policy decides about.
    """

    problem: Problem

    @property
    def count(self) -> int:
        """Number of classes."""
        return self.problem.graph.n_classes

    @property
    def devices(self) -> int:
        """Number of devices to choose from."""
        return self.problem.machine.n_devices

    @cached_property
    def leaders(self) -> NDArray[np.int32]:
        """int32[classes]: the first operation of each class."""
        offsets, ops = self.problem.graph.classes
        return ops[offsets[:-1]]

    @cached_property
    def types(self) -> NDArray[np.int64]:
        """int64[classes]: the class's operation type as a number, the most common type first."""
        graph = self.problem.graph
        names = [graph.op_types[op] for op in self.leaders]
        _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
        rank = np.empty(len(counts), np.int64)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        return rank[inverse]

    @cached_property
    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Source and target class of each pair that exchanges a tensor, int32[edges] each."""
        graph = self.problem.graph
        tensors, consumers = graph.edges
        ends = graph.colocation[graph.producer[tensors]], graph.colocation[consumers]
        pairs = np.unique(np.stack(ends)[:, ends[0] != ends[1]], axis=1)
        return pairs[0].astype(np.int32), pairs[1].astype(np.int32)

    @cached_property
    def shapes(self) -> list[list[list[int]]]:
        """The output shapes of each class's first operation."""
        graph = self.problem.graph
        offsets, tensors = graph.outputs
        return [
            [[d for d in graph.shapes[t].tolist() if d >= 0] for t in tensors[offsets[op] : end]]
            for op, end in zip(self.leaders, offsets[self.leaders + 1], strict=True)
        ]

    @cached_property
    def successors(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Readers of each class: (offsets int64[classes + 1], their classes int32[edges])."""
        return csr(*self.edges, self.count)

    @cached_property
    def predecessors(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Producers for each class: (offsets int64[classes + 1], their classes int32[edges])."""
        return csr(*self.edges[::-1], self.count)

    @cached_property
    def breadth_first(self) -> NDArray[np.int64]:
        """int64[classes]: each class's position in breadth-first order from the sources."""
        offsets, successors = self.successors
        seen = np.diff(self.predecessors[0]) == 0
        front, order = np.flatnonzero(seen), []
        while len(front):
            order.append(front)
            reached = np.concatenate([successors[offsets[u] : offsets[u + 1]] for u in front])
            fresh = reached[~seen[reached]]
            front = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
            seen[front] = True
        left = np.flatnonzero(~seen)
        position = np.empty(self.count, np.int64)
        position[np.concatenate([*order, left])] = np.arange(self.count)
        return position

    @cached_property
    def fallback(self) -> NDArray[np.int64]:
        """int64[classes]: the first device that may run the class, its CPU without a kernel."""
        return np.asarray(np.argmax(self.problem.allowed, axis=1), np.int64)

    def placed(self, devices: Ints) -> NDArray[np.int32]:
        """Turn class devices int[samples, classes] into operation devices int32[samples, ops].

        A class that the chosen device cannot run goes to its fallback, as in TensorFlow with soft
        placement.
        """
        fits = self.problem.allowed[np.arange(self.count), devices]
        devices = np.where(fits, devices, self.fallback)
        return np.asarray(devices[:, self.problem.graph.colocation], np.int32)
