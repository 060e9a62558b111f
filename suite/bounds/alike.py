"""Devices that are alike to every bound: what holds for one of a kind holds for all of them.

A kind is a set of devices with the same operation times, as many at once, and the same memory that
every other kind reaches, and that reaches every other kind, at the same speeds. Among the devices
of one kind links may differ: a tensor that is on one of them is best off where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats, Ints
from suite.core.machine import Link, Machine
from suite.core.problem import Problem
from suite.simulator.durations import nanoseconds

NEVER = int(np.iinfo(np.int64).max) // 4
"""Release and delivery time of an operation on a device that it may not use. A quarter of what an
integer holds, so that sums of three cannot overflow."""
HANDED_ON = -1
"""In place of its bytes: a tensor that crosses without a copy."""


def bytes_moved(problem: Problem) -> NDArray[np.int64]:
    """int64[tensors]: what a transfer of each moves, or HANDED_ON."""
    return np.where(problem.handed_on, HANDED_ON, problem.graph.tensor_bytes).astype(np.int64)


def least_time(latency: float, bandwidth: float, sizes: Ints) -> NDArray[np.int64]:
    """int64[sizes]: nanoseconds on a free channel, of tensors as :func:`bytes_moved` has them."""
    seconds: Floats = np.where(sizes == HANDED_ON, 0.0, latency + sizes / bandwidth)
    return nanoseconds(seconds)


def least_each_way(
    machine: Machine, kind: NDArray[np.int64], sizes: Ints, seconds: Callable[[Link], float]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The least time of a link to, and from, any device of each kind: int64[sizes, kinds] each.

    ``seconds`` of a link are those beside its bytes; ``kind`` is int64[devices], and ``sizes`` are
    those of :func:`bytes_moved`. NEVER where there is no link.
    """
    shape = (len(sizes), int(kind.max()) + 1)
    arrive, leave = np.full(shape, NEVER), np.full(shape, NEVER)
    links = machine.link_of.items() if len(kind) > 1 else ()
    speeds = {(int(kind[s]), int(kind[t]), seconds(k), k.bandwidth) for (s, t), k in links}
    for s, t, least, bandwidth in sorted(speeds):
        time = least_time(least, bandwidth, sizes)
        arrive[:, t] = np.minimum(arrive[:, t], time)
        leave[:, s] = np.minimum(leave[:, s], time)
    return arrive, leave


@dataclass(frozen=True, eq=False)
class Alike:
    """A partition of a machine's devices into kinds."""

    machine: Machine
    firsts: NDArray[np.int64]
    """int64[kinds]: one device of each."""
    kind: NDArray[np.int64]
    """int64[devices]."""

    @classmethod
    def of(cls, problem: Problem) -> Alike:
        """The fewest kinds, numbered by their first devices."""
        machine = problem.machine
        kinds_of = problem.kinds[1].tolist(), machine.memory.tolist(), machine.parallelism.tolist()
        kind = _numbered(zip(*kinds_of, strict=True))
        # Devices part until all of a kind see the same: each round sees one link further.
        while True:
            seen = [(k, _seen(machine, d, kind)) for d, k in enumerate(kind)]
            finer = _numbered(seen)
            if finer == kind:
                break
            kind = finer
        kinds = np.array(kind, np.int64)
        return cls(machine, np.unique(kinds, return_index=True)[1].astype(np.int64), kinds)

    @classmethod
    def apart(cls, machine: Machine) -> Alike:
        """Every device as a kind of its own."""
        each = np.arange(machine.n_devices, dtype=np.int64)
        return cls(machine, each, each)

    @property
    def lanes(self) -> NDArray[np.int64]:
        """int64[kinds]: operations that a device of each runs at once."""
        return self.machine.parallelism[self.firsts]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """int64[kinds]: devices of each."""
        return np.bincount(self.kind).astype(np.int64)

    def transfers(self, sizes: Ints) -> NDArray[np.int64]:
        """int64[sizes, kinds, kinds]: least nanoseconds on a free channel, 0 within a kind.

        ``sizes`` are those of :func:`bytes_moved`.
        From any device of the first to a given one of the second, or the other way round.
        """
        kinds = len(self.firsts)
        move = np.full((len(sizes), kinds, kinds), np.iinfo(np.int64).max)
        speeds = set()
        for (s, t), link in self.machine.link_of.items() if len(self.kind) > 1 else ():
            speeds.add((int(self.kind[s]), int(self.kind[t]), link.latency, link.bandwidth))
        for s, t, latency, bandwidth in sorted(speeds):
            move[:, s, t] = np.minimum(move[:, s, t], least_time(latency, bandwidth, sizes))
        move[:, np.arange(kinds), np.arange(kinds)] = 0
        return move


def _seen(machine: Machine, device: int, kind: list[int]) -> tuple[object, ...]:
    """The speeds of links from, and to, devices of each other kind."""
    links = machine.link_of if len(kind) > 1 else {}
    away, back = set(), set()
    for other, number in enumerate(kind):
        if number != kind[device]:
            there, here = links[device, other], links[other, device]
            away.add((number, there.latency, there.bandwidth))
            back.add((number, here.latency, here.bandwidth))
    return frozenset(away), frozenset(back)


def _numbered(labels: Iterable[tuple[object, ...]]) -> list[int]:
    numbers: dict[tuple[object, ...], int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]
