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
Columns = list[NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Cut:
    """A placement that no other is faster than."""

    devices: NDArray[np.int64]
    """int64[n_classes]."""
    nanoseconds: int


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
    classes = problem.graph.n_classes
    costs = _class_costs(problem)
    ends, crossing = _tensors(problem)
    # No cut is cheaper than this placement, so that more than it costs is as good as infinite.
    simple = np.argmin(np.where(problem.allowed, costs, np.iinfo(np.int64).max), axis=1)
    enough = _cost(simple, costs, ends, crossing) + 1
    if enough > MOST:
        raise InputError(
            f"{problem.graph.name} takes {enough / 1e9:.1f} s on {problem.machine.name}; a minimum"
            " cut is computed below two seconds"
        )
    capacity = np.minimum(np.where(problem.allowed, costs, enough), enough)
    first, last = classes, classes + 1
    nodes = np.arange(classes)
    columns: list[tuple[Ints, Ints, Ints]] = [
        (np.full(classes, first), nodes, capacity[:, 1]),
        (nodes, np.full(classes, last), capacity[:, 0]),
    ]
    makers, tensors, readers = ends
    for direction in (0, 1):
        # A node for each tensor: who reads it there has it there, and then it was sent, once.
        auxiliary = last + 1 + direction * len(crossing) + np.arange(len(crossing))
        sent = makers, auxiliary, np.minimum(crossing[:, direction], enough)
        had = auxiliary[tensors], readers, np.full(len(readers), enough)
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


def _tensors(problem: Problem) -> tuple[tuple[Ints, Ints, Ints], NDArray[np.int64]]:
    """The tensors that may cross, and what each costs from either device to the other.

    Returns the producer's class of each, and (tensor, class) of all their readers of other classes;
    and nanoseconds, int64[tensors, 2], from the first device and from the second.
    """
    graph, machine = problem.graph, problem.machine
    tensors, consumers = graph.edges
    pairs = np.stack([tensors, graph.colocation[consumers]])
    away = pairs[1] != graph.colocation[graph.producer[tensors]]
    pairs = np.unique(pairs[:, away], axis=1)
    crossing, numbers = np.unique(pairs[0], return_inverse=True)
    sizes = graph.tensor_bytes[crossing]
    links = [machine.link_of[0, 1], machine.link_of[1, 0]]
    seconds = np.stack([link.latency + sizes / link.bandwidth for link in links], axis=1)
    makers = graph.colocation[graph.producer[crossing]]
    return (makers.astype(np.int64), numbers, pairs[1]), nanoseconds(seconds)


def _cost(
    devices: Ints,
    costs: NDArray[np.int64],
    ends: tuple[Ints, Ints, Ints],
    crossing: NDArray[np.int64],
) -> int:
    """Nanoseconds of a placement of the classes, int[n_classes]."""
    makers, tensors, readers = ends
    home = devices[makers]
    sent = np.zeros(len(crossing), np.bool_)
    sent[tensors[devices[readers] != home[tensors]]] = True
    moved = crossing[np.arange(len(crossing)), home][sent].sum()
    return int(costs[np.arange(len(devices)), devices].sum() + moved)
