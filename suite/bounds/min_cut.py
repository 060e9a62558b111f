"""The fastest step of two devices that take turns: a minimum cut, exact.

Under the semantics ``hetero`` a step takes the sum of its operations and its transfers. With two
devices that is what a cut costs: an operation pays for the side it is on, a tensor once for each
device other than its producer's that reads it (Stone, Multiprocessor Scheduling with the Aid of
Network Flow Algorithms, 1977, where each reader pays).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.simulator.durations import nanoseconds

MOST = 2**31 - 2
"""Nanoseconds: SciPy's maximum flow counts in 32 bits."""


@dataclass(frozen=True, eq=False)
class Cut:
    """A placement that no other is faster than."""

    devices: NDArray[np.int64]
    """int64[n_classes]."""
    nanoseconds: int
    """What it costs, or as many of the units that costs were given in."""


@dataclass(frozen=True, eq=False)
class Tensors:
    """The tensors that may cross between two sides, and what each then costs."""

    makers: NDArray[np.int64]
    """int64[tensors]: the class that makes each."""
    read: NDArray[np.int64]
    readers: NDArray[np.int64]
    """int64[pairs]: tensors, and a class other than its maker's that reads each; no pair twice."""
    costs: NDArray[np.int64]
    """int64[tensors, 2]: to the second side from the first, and back."""

    @classmethod
    def of(cls, problem: Problem, first: int, second: int) -> Tensors:
        """Of a problem, between two of its devices, in nanoseconds."""
        graph, machine = problem.graph, problem.machine
        tensors, readers = graph.class_reads
        crossing, numbers = np.unique(tensors, return_inverse=True)
        sizes = graph.tensor_bytes[crossing]
        links = [machine.link_of[first, second], machine.link_of[second, first]]
        seconds = np.stack([link.latency + sizes / link.bandwidth for link in links], axis=1)
        makers = graph.colocation[graph.producer[crossing]].astype(np.int64)
        return cls(makers, numbers, readers, nanoseconds(seconds))

    def moved(self, sides: Ints) -> int:
        """What crosses costs, where the classes are on these sides, int[n_classes] of 0 and 1."""
        home = sides[self.makers]
        sent = np.zeros(len(self.makers), np.bool_)
        sent[self.read[sides[self.readers] != home[self.read]]] = True
        return int(self.costs[np.arange(len(home)), home][sent].sum())


def min_cut(problem: Problem) -> Cut:
    """Cut a problem on two devices where that costs least; memory is not looked at.

    Raises InputError unless the machine has two devices, and where a step takes two seconds or
    more: numbers are then too large.
    """
    if problem.machine.n_devices != 2:
        raise InputError(
            f"a minimum cut is between two devices; {problem.machine.name} has"
            f" {problem.machine.n_devices}"
        )
    costs = _class_costs(problem)
    tensors = Tensors.of(problem, 0, 1)
    # No cut is cheaper than this placement, so that more than it costs is as good as infinite.
    simple = np.argmin(np.where(problem.allowed, costs, np.iinfo(np.int64).max), axis=1)
    enough = _cost(simple, costs, tensors) + 1
    if enough > MOST:
        raise InputError(
            f"{problem.graph.name} takes {enough / 1e9:.1f} s on {problem.machine.name}; a minimum"
            " cut is computed below two seconds"
        )
    return least_cut(np.where(problem.allowed, costs, enough), tensors, enough)


def least_cut(costs: NDArray[np.int64], tensors: Tensors, enough: int) -> Cut:
    """Put every class on the first side or the second where all together costs least.

    ``costs``, int64[n_classes, 2], and those of ``tensors`` are in units of any kind. ``enough``,
    at most MOST, is more than some placement costs: a side that costs as much is not chosen. Of
    several cuts the one with the fewest classes on the first side.
    """
    classes, capacity = len(costs), np.minimum(costs, enough)
    first, last = classes, classes + 1
    nodes = np.arange(classes)
    columns: list[tuple[Ints, Ints, Ints]] = [
        (np.full(classes, first), nodes, capacity[:, 1]),
        (nodes, np.full(classes, last), capacity[:, 0]),
    ]
    crossing = tensors.costs
    for direction in (0, 1):
        # A node for each tensor: who reads it there has it there, and then it was sent, once.
        auxiliary = last + 1 + direction * len(crossing) + np.arange(len(crossing))
        sent = tensors.makers, auxiliary, np.minimum(crossing[:, direction], enough)
        had = auxiliary[tensors.read], tensors.readers, np.full(len(tensors.readers), enough)
        columns += [sent, had] if direction == 0 else [_turned(sent), _turned(had)]
    tails, heads, capacities = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    size = last + 1 + 2 * len(crossing)
    network = coo_array((capacities.astype(np.int32), (tails, heads)), shape=(size, size)).tocsr()
    result = maximum_flow(network, first, last)
    left = network - result.flow
    left.data[left.data < 0] = 0
    left.eliminate_zeros()
    near = breadth_first_order(left, first, return_predecessors=False)
    devices = np.ones(size, np.int64)
    devices[near] = 0
    return Cut(devices[:classes], int(result.flow_value))


def _turned(column: tuple[Ints, Ints, Ints]) -> tuple[Ints, Ints, Ints]:
    tails, heads, capacities = column
    return heads, tails, capacities


def _class_costs(problem: Problem) -> NDArray[np.int64]:
    """int64[n_classes, 2]: what the operations of each class take; 0 where it is not allowed."""
    total = np.zeros((problem.graph.n_classes, 2), np.int64)
    np.add.at(total, problem.graph.colocation, nanoseconds(problem.seconds))
    return np.where(problem.allowed, total, 0)


def _cost(devices: Ints, costs: NDArray[np.int64], tensors: Tensors) -> int:
    """Nanoseconds of a placement of the classes, int[n_classes]."""
    return int(costs[np.arange(len(devices)), devices].sum()) + tensors.moved(devices)
