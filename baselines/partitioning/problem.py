"""What a partitioner is asked, in integers, and how its answer becomes a placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import class_graph, integer_loads
from suite.core.arrays import Bools, Floats, Ints
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem

_SPEED_STEPS = 1000
_COST_STEPS = 10


@dataclass(frozen=True, eq=False)
class Question:
    """A class graph with integer loads, and the target devices with integer speeds and costs."""

    problem: Problem
    devices: Ints
    """int64[parts]: the machine's device that each part stands for."""
    homes: Ints
    """int64[n_classes]: the device of a class that the partitioner may not move, else -1."""
    asked: Bools
    """bool[n_classes]: the classes that are vertices of the question."""
    offsets: NDArray[np.int64]
    """int64[vertices + 1]: compressed rows, both arcs of every edge."""
    neighbours: NDArray[np.int64]
    """int64[arcs]."""
    edge_loads: NDArray[np.int64]
    """int64[arcs]: transfer times, scaled."""
    loads: NDArray[np.int64]
    """int64[vertices]: seconds on the fastest device, scaled."""
    fixed: NDArray[np.int64]
    """int64[vertices]: the part a vertex must be in, or -1."""
    speeds: NDArray[np.int64]
    """int64[parts]: relative speeds for this graph, the fastest 1000 (1 each if all are equal)."""
    costs: NDArray[np.int64]
    """int64[parts, parts]: relative link costs, the cheapest 10 (1 each if all are equal)."""

    @property
    def trivial(self) -> bool:
        """Whether there is nothing to decide."""
        return len(self.devices) == 1 or not (self.fixed < 0).any()

    def placement(self, parts: Ints) -> Placement:
        """Turn parts (int[vertices]) into a placement; homes are kept whatever the parts say."""
        chosen = self.homes.copy()
        free = self.homes[self.asked] < 0
        chosen[np.flatnonzero(self.asked)[free]] = self.devices[parts[free]]
        return Placement.of_classes(self.problem, chosen)


def ask(problem: Problem, devices: Ints, *, fixed: bool) -> Question:
    """Ask for a partition of the classes over ``devices`` (int[parts], indices).

    A class that some of the devices cannot run stays at home, on the fastest device that can run
    it. With ``fixed``, homes among ``devices`` are part of the question, as fixed vertices that
    use up their part's share; without, and for homes elsewhere, they are left out of it.
    Raises Unsupported when ``devices`` is empty.
    """
    devices = np.asarray(devices, np.int64)
    if not len(devices):
        raise Unsupported(f"machine {problem.machine.name} has no GPU")
    homes = homes_outside(problem, devices)
    asked = np.asarray((homes < 0) | (np.isin(homes, devices) & fixed), np.bool_)
    rates = _rates(problem, devices, np.flatnonzero(homes < 0))
    graph = class_graph(problem, devices).induced(asked)
    return Question(
        problem=problem,
        devices=devices,
        homes=homes,
        asked=asked,
        offsets=graph.offsets,
        neighbours=graph.neighbours,
        edge_loads=integer_loads(graph.seconds),
        loads=integer_loads(_work(problem, devices, homes, rates)[asked]),
        fixed=np.where(homes < 0, -1, np.argmax(homes[:, None] == devices, axis=1))[asked],
        speeds=_reduced(np.maximum(1, np.rint(_SPEED_STEPS * rates / rates.max()))),
        costs=_link_costs(problem, devices),
    )


def homes_outside(problem: Problem, devices: Ints) -> NDArray[np.int64]:
    """int64[n_classes]: -1 if every one of ``devices`` can run the class, else its home.

    The home is the fastest of ``devices`` that can run it, or else the fastest of all.
    """
    everywhere = problem.allowed[:, devices].all(axis=1)
    inside = np.asarray(problem.allowed[:, devices].any(axis=1))
    outsiders = np.ones(problem.machine.n_devices, np.bool_)
    outsiders[devices] = False
    seconds = np.where(inside[:, None] & outsiders, np.inf, problem.class_seconds)
    return np.where(everywhere, -1, np.argmin(seconds, axis=1))


def _rates(problem: Problem, devices: Ints, movable: Ints) -> Floats:
    """Relative speed of each device: the inverse of its time for all the movable classes."""
    total = problem.class_seconds[movable][:, devices].sum(axis=0)
    total = np.maximum(total, 1e-12)
    return np.asarray(total.max() / total, np.float64)


def _work(problem: Problem, devices: Ints, homes: Ints, rates: Floats) -> Floats:
    """Seconds of each class on the fastest device; at home, what takes its part as long."""
    best = int(np.argmax(rates))
    work = problem.class_seconds[:, devices[best]].copy()
    for part, device in enumerate(devices):
        here = homes == device
        work[here] = problem.class_seconds[here, device] * rates[part] / rates[best]
    return np.where(np.isfinite(work), work, 0.0)


def _link_costs(problem: Problem, devices: Ints) -> NDArray[np.int64]:
    """Cost of the graph's mean tensor between two devices, mean of both directions."""
    sizes = problem.graph.tensor_bytes[np.diff(problem.graph.consumer_offsets) > 0]
    size = float(sizes.mean()) if len(sizes) else 0.0
    one_way = [[problem.machine.transfer_seconds(s, t, size) for t in devices] for s in devices]
    costs = np.array(one_way) + np.array(one_way).T
    cheapest = costs[costs > 0].min() if (costs > 0).any() else 1.0
    steps = np.maximum(1, np.rint(_COST_STEPS * costs / cheapest))
    np.fill_diagonal(steps, _COST_STEPS)
    return _reduced(steps)


def _reduced(values: Floats) -> NDArray[np.int64]:
    integers = values.astype(np.int64)
    return integers // max(1, int(np.gcd.reduce(integers, axis=None)))
