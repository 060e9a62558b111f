"""Co-location groups, merged until few enough are left: the nodes that Placeto places."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from suite.core.arrays import Bools, Floats, Ints
from suite.core.problem import Problem


@dataclass(frozen=True, eq=False)
class MergedGroups:
    """A graph of groups, in topological order as far as groups have one."""

    classes: ClassGraph
    of_class: NDArray[np.int64]
    """int64[n_classes]: the group of each colocation class."""
    count: int

    @classmethod
    def of(cls, problem: Problem, most: int) -> MergedGroups:
        """ColocRL's groups (``Problem.groups``); while there are more than ``most``, merge.

        The group that takes least time joins the one with which it exchanges most bytes, or the
        next cheapest if it exchanges none. Groups are numbered by the mean position of their
        operations in topological order.
        """
        graph = problem.graph
        groups = problem.groups
        tensors, readers = graph.edges
        ends = groups[graph.producer[tensors]], groups[readers]
        seconds = _sums(groups, _fastest(problem), int(groups.max(initial=-1)) + 1)
        merged = _merge_cheapest(seconds, ends, graph.tensor_bytes[tensors], most)[groups]
        count = int(merged.max(initial=-1)) + 1
        positions = np.bincount(merged, np.arange(len(merged))) / np.bincount(merged)
        rank = np.empty(count, np.int64)
        rank[np.argsort(positions, kind="stable")] = np.arange(count)
        classes = ClassGraph(problem)
        return cls(classes, rank[merged][classes.leaders], count)

    @cached_property
    def _of_op(self) -> NDArray[np.int64]:
        """int64[ops]."""
        return self.of_class[self.classes.problem.graph.colocation]

    @cached_property
    def seconds(self) -> Floats:
        """float64[groups]: what its operations take, each on its fastest device."""
        return _sums(self._of_op, _fastest(self.classes.problem), self.count)

    @cached_property
    def output_bytes(self) -> Floats:
        """float64[groups]: of the tensors that its operations make."""
        graph = self.classes.problem.graph
        makers = self._of_op[graph.producer]
        return _sums(makers, graph.tensor_bytes, self.count)

    @cached_property
    def reads(self) -> Bools:
        """bool[groups, groups]: whether the second reads a tensor of the first, another group."""
        graph = self.classes.problem.graph
        tensors, readers = graph.edges
        found = np.zeros((self.count, self.count), np.bool_)
        found[self._of_op[graph.producer[tensors]], self._of_op[readers]] = True
        np.fill_diagonal(found, False)
        return found

    @cached_property
    def reaches(self) -> Bools:
        """bool[groups, groups]: whether a path leads from the first to the second, another."""
        found = self.reads.astype(np.float32)
        for _ in range(max(1, self.count).bit_length()):
            found = np.minimum(1, found + found @ found)
        np.fill_diagonal(found, 0)
        return found > 0

    def placed(self, devices: Ints) -> NDArray[np.int32]:
        """Turn group devices, int[samples, groups], into operation devices, int32[samples, ops]."""
        return self.classes.placed(devices[:, self.of_class])


def _fastest(problem: Problem) -> Floats:
    """float64[ops]: seconds on the fastest device."""
    return np.asarray(problem.seconds.min(axis=1), np.float64)


def _sums(groups: Ints, values: Floats | Ints, count: int) -> Floats:
    """float64[count]: the sum of the values of each group."""
    return np.asarray(np.bincount(groups, values, minlength=count), np.float64)


def _merge_cheapest(
    seconds: Floats, ends: tuple[Ints, Ints], sizes: Ints, most: int
) -> NDArray[np.int64]:
    """int64[groups]: what each of the groups has become, numbered from 0.

    ``ends``, int[edges] each, are the groups that exchange ``sizes``, int64[edges], bytes.
    """
    count = len(seconds)
    exchanged: list[Counter[int]] = [Counter() for _ in range(count)]
    for one, other, size in zip(*(values.tolist() for values in (*ends, sizes)), strict=True):
        if one != other:
            exchanged[one][other] += size
            exchanged[other][one] += size
    cost, into = seconds.tolist(), list(range(count))
    heap = [(cost[group], group) for group in range(count)]
    heapq.heapify(heap)

    def cheapest() -> int:
        while True:
            paid, group = heapq.heappop(heap)
            if into[group] == group and paid == cost[group]:
                return group

    for _ in range(count - most):
        group = cheapest()
        near = exchanged[group]
        most_bytes = max(near.items(), key=lambda pair: (pair[1], -pair[0]), default=None)
        partner = cheapest() if most_bytes is None else most_bytes[0]
        into[group] = partner
        cost[partner] += cost[group]
        heapq.heappush(heap, (cost[partner], partner))
        for other, size in near.items():
            del exchanged[other][group]
            if other != partner:
                exchanged[other][partner] += size
                exchanged[partner][other] += size
    roots = np.array([_root(into, group) for group in range(count)], np.int64)
    return np.asarray(np.unique(roots, return_inverse=True)[1], np.int64)


def _root(into: list[int], group: int) -> int:
    while into[group] != group:
        group = into[group]
    return group
