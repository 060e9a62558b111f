"""Proven lower bounds on the simulated step time, for the semantics named ``placebench``.

Each part relaxes something; none can exceed the step time of any valid placement. Operations that
start late and are followed by much more are the window's subject: a step must last a release time,
then their work shared out over all devices, then a delivery time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import NEVER, Alike
from suite.bounds.critical_path import release_and_delivery
from suite.bounds.load_balance import Load
from suite.bounds.serialisation import serial_release_and_delivery
from suite.bounds.traffic import traffic_bound
from suite.bounds.window import window_bound
from suite.core.arrays import Bools, Ints
from suite.core.problem import Problem
from suite.simulator.durations import nanoseconds

_SAME = 1e-6
"""Share within which two parts count as equal when the binding one is named."""


@dataclass(frozen=True)
class Bound:
    """A step time that no valid placement beats, and where it comes from."""

    seconds: float
    """Holds for every valid placement, whether it fits in memory or not."""
    kind: str
    """The part that binds, the first of ``parts`` where several do."""
    parts: dict[str, float]
    """Seconds of each relaxation:

    ``critical_path``: the longest path, every operation where it is best off, transfers that no
    placement avoids included. ``load``: the work, shared out at will, the lanes of a device too.
    ``serial``: the longest path when what joins it runs one after the other or is transferred; as
    ``critical_path`` where devices run several operations at once. ``class``: one
    colocation class, all on one device. ``window``: release time + work + delivery time.
    ``traffic``: the same with what it must send around hubs; else the largest of those before it.
    ``load_memory``: ``load`` with variables within the memories; it holds only for placements
    that fit, is infinite when none does, and is therefore not in ``seconds``.
    """


def lower_bound(problem: Problem) -> Bound:
    """Bound the simulated step time of every valid placement of ``problem`` from below.

    Simulated time is a whole number of nanoseconds, so bounds are rounded up to one. The result
    depends on the problem alone, in its last digits on the solvers of linear programs as well.
    Takes seconds for 80,000 operations.
    """
    graph = problem.graph
    if not graph.n_ops:
        return Bound(0.0, "critical_path", {"critical_path": 0.0})
    alike = Alike.of(problem)
    allowed = problem.allowed[:, alike.firsts]
    may = allowed[graph.colocation]
    durations = np.where(may, nanoseconds(problem.seconds[:, alike.firsts]), 0)
    reached = release_and_delivery(problem, durations, alike)
    release, delivery = (
        reached
        if problem.machine.parallel
        else serial_release_and_delivery(problem, durations, alike, reached)
    )
    load = Load.of(problem, durations, alike)
    ends = release.min(axis=1), delivery.min(axis=1)
    found = {
        "critical_path": _longest(may, durations, *reached),
        "load": load.least()[0],
        "serial": _longest(may, durations, release, delivery),
        "class": _class_bound(graph.colocation, allowed, durations, release, delivery, alike.lanes),
        "window": window_bound(problem, durations, *ends, alike),
    }
    found["traffic"] = traffic_bound(problem, durations, *ends, alike, max(found.values()))
    best = max(found.values())
    kind = next(name for name, value in found.items() if value >= best * (1 - _SAME))
    parts = {name: value / 1e9 for name, value in found.items()}
    memory = max(load.least_within_memory() / 1e9, parts["load"])
    return Bound(best / 1e9, kind, parts | {"load_memory": memory})


def _longest(
    allowed: Bools,
    durations: NDArray[np.int64],
    release: NDArray[np.int64],
    delivery: NDArray[np.int64],
) -> float:
    """Release time, operation and delivery time, each operation where that is least."""
    return float(np.where(allowed, release + durations + delivery, NEVER).min(axis=1).max())


def _class_bound(
    classes: Ints,
    allowed: Bools,
    durations: NDArray[np.int64],
    release: NDArray[np.int64],
    delivery: NDArray[np.int64],
    lanes: Ints,
) -> float:
    """On its best device: a class' first release, all its work in turn, its shortest delivery.

    ``lanes`` that a device of each kind has share the work.
    """
    shape = allowed.shape
    first, last, work = np.full(shape, NEVER), np.full(shape, NEVER), np.zeros(shape, np.int64)
    np.minimum.at(first, classes, release)
    np.minimum.at(last, classes, delivery)
    np.add.at(work, classes, durations)
    return float(np.where(allowed, first + work // lanes + last, NEVER).min(axis=1).max())
