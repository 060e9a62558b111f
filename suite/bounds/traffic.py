"""The traffic bound: a window whose work is shared out, and the transfers that this takes.

A window (:mod:`suite.bounds.window`) shares its work out over all devices and sends nothing. But
there are operations that very many others read or feed, *hubs*: the one that hands all gradients
on to an optimizer's updates, the one with which a step ends. A hub is on one device. Whatever it
shares a tensor with elsewhere takes a transfer, and these need its device's channels in turn:

    minimise T, each colocation class split over the places at will, such that
        the devices of each place compute for no longer than T,
        and the tensors that leave, or reach, a place hold each of its channels no longer than T.

A *place* is the device of a hub, or all devices of one kind that have no hub. A tensor leaves a
place to the extent to which its producer is there more than some reader is, and reaches it where
it is the other way round. Splitting every class alike would send nothing; so each hub is put in
one place, in every way there is, and the least of these counts. All operations of the window start
after its release time and end before its delivery time, and so do the transfers between them.

As in :mod:`suite.bounds.load_balance` the solver is not trusted. Any prices >= 0 of the places'
time, sending and receiving, and any shares of the price of a tensor's sending (receiving) among its
readers, which make up no more than that price, give a lower bound: each class pays for its work
where it is and for the shares of what it makes there, and is paid for those of what it reads there
(receiving: the other way round). The sum over classes of the least that they pay, divided by the
sum of all prices, is at most T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.bounds.alike import HANDED_ON, Alike, bytes_moved, least_each_way
from suite.bounds.load_balance import ROUNDING, class_work, priced
from suite.bounds.traffic_program import Effort, Prices, Program
from suite.core.arrays import Bools, Floats, Ints
from suite.core.machine import Machine
from suite.core.problem import Problem

ANCHORS = 4
"""Hubs of the graph at most that a window may begin or end with."""
HUBS = 2
"""Hubs of a window at most: each way to place them is a program of its own."""
MANY = 32
"""Tensors that a hub shares with the operations of a window, at least."""
WAYS = 30
"""Ways to place hubs at most: machines with more kinds of devices have no such bound."""
NEAR = 0.02
"""Share of the bound by which both ends of a window together may become wider for each hub."""
NOWHERE: Mapping[int, int] = MappingProxyType({})
"""Where hubs are before any of them is put anywhere."""


class Place(NamedTuple):
    """Devices that are counted together."""

    kind: int
    devices: int


@dataclass(frozen=True, eq=False)
class Traffic:
    """The colocation classes with operations in a window, and the tensors between them."""

    classes: NDArray[np.int64]
    """int64[classes]: their numbers, ascending."""
    work: Floats
    """float64[classes, kinds]: nanoseconds, infinite where a class may not go."""
    tensor: NDArray[np.int64]
    maker: NDArray[np.int64]
    reader: NDArray[np.int64]
    """int64[edges]: a tensor, the class that makes it and one that reads it, once."""
    leaving: Floats
    reaching: Floats
    """float64[tensors, kinds]: the least nanoseconds that it holds a channel of a device of the
    kind, sent from there or to there."""
    lanes: NDArray[np.int64]
    outlets: NDArray[np.int64]
    inlets: NDArray[np.int64]
    """int64[kinds]: operations that a device runs at once, channels that lead from and to it."""

    @classmethod
    def of(
        cls, problem: Problem, durations: NDArray[np.int64], alike: Alike, inside: Bools
    ) -> Traffic:
        """Of the operations ``inside``, bool[ops]; ``durations`` are int64[ops, kinds], in ns."""
        graph, classes = problem.graph, problem.graph.colocation
        within = np.unique(classes[inside].astype(np.int64))
        work = class_work(problem, np.where(inside[:, None], durations, 0), alike)[within]
        tensors, readers = graph.edges
        makers, sizes = graph.producer[tensors], bytes_moved(problem)
        between = inside[makers] & inside[readers] & (classes[makers] != classes[readers])
        between &= sizes[tensors] != HANDED_ON
        ends = tensors[between], classes[makers[between]], classes[readers[between]]
        edges = np.unique(np.stack(ends, axis=1).astype(np.int64), axis=0)
        sent, tensor = np.unique(edges[:, 0], return_inverse=True)
        maker, reader = np.searchsorted(within, edges[:, 1:]).T
        held = least_each_way(problem.machine, alike.kind, sizes[sent], lambda link: link.held)
        reaching, leaving = (time.astype(np.float64) for time in held)
        return cls(
            *(within, work, tensor.reshape(-1), maker, reader, leaving, reaching),
            *(alike.lanes, *_channels(problem.machine, alike)),
        )

    def proven(self, places: Sequence[Place], fixed: Mapping[int, int], prices: Prices) -> float:
        """Nanoseconds that these prices prove, where classes ``fixed`` are in these places."""
        total = worth = 0.0
        cost = np.empty((len(self.work), len(places)))
        for at, (kind, devices) in enumerate(places):
            compute, send, receive = (float(each[at]) for each in prices[:3])
            total += devices * compute * self.lanes[kind]
            total += devices * (send * self.outlets[kind] + receive * self.inlets[kind])
            sent = self._shared(prices.sent[:, at], send * self.leaving[:, kind])
            got = self._shared(prices.got[:, at], receive * self.reaching[:, kind])
            cost[:, at] = priced(prices.compute[at], self.work[:, kind])
            cost[:, at] += np.bincount(self.maker, sent - got, len(cost))
            cost[:, at] += np.bincount(self.reader, got - sent, len(cost))
            worth += float(sent.sum() + got.sum())
        for one, at in fixed.items():
            cost[one, np.arange(len(places)) != at] = np.inf
        paid = cost.min(axis=1)
        slack = ROUNDING * (float(np.abs(paid).sum()) + worth)
        return math.ceil((float(paid.sum()) - slack) / total) if total > 0 else 0.0

    def _shared(self, asked: Floats, most: Floats) -> Floats:
        """float64[edges]: ``asked``, no more in all for each tensor than ``most`` of it."""
        total = np.bincount(self.tensor, asked, len(most))
        fits = np.divide(most, total, out=np.zeros(len(most)), where=total > 0)
        return asked * np.minimum(1.0, fits * (1 - ROUNDING))[self.tensor]


def traffic_bound(
    problem: Problem,
    durations: NDArray[np.int64],
    release: NDArray[np.int64],
    delivery: NDArray[np.int64],
    alike: Alike,
    known: float,
) -> float:
    """Nanoseconds that no step beats, by what the windows before and after hubs compute and send.

    ``durations`` is int64[ops, kinds], 0 where not allowed; ``release`` and ``delivery`` are
    int64[ops]. Returns ``known``, which is proven already, where nothing proves more: where there
    are no hubs, too many ways to place them, or too large a program.
    """
    if problem.machine.n_devices == 1:
        return known
    windows: dict[tuple[int, int], None] = {}
    for hub in _hubs(problem, release, delivery, (0, 0), np.inf, ANCHORS):
        windows |= {(int(release[hub]), 0): None, (0, int(delivery[hub])): None}
    tried, effort = set(), Effort()
    for window in windows:
        hubs = _hubs(problem, release, delivery, window, NEAR * known, HUBS)
        first = min([window[0], *release[hubs].tolist()])
        last = min([window[1], *delivery[hubs].tolist()])
        if hubs and (first, last) not in tried:
            tried.add((first, last))
            inside = (release >= first) & (delivery >= last)
            traffic = Traffic.of(problem, durations, alike, inside)
            classes = problem.graph.colocation[hubs]
            more = _least(traffic, classes, alike.sizes, known - first - last, effort)
            known = max(known, first + last + more)
    return known


def _least(
    traffic: Traffic, hubs: Ints, sizes: NDArray[np.int64], enough: float, effort: Effort
) -> float:
    """Nanoseconds that the work and the transfers of a window take; ``hubs`` are classes.

    0 where that is no more than ``enough``, or cannot be said.
    """
    # With all on one device nothing is sent, so that no program proves more than that takes.
    if traffic.work.sum(axis=0).min() <= enough:
        return 0.0
    classes = np.searchsorted(traffic.classes, hubs).tolist()
    ways = list(islice(_ways(classes, np.isfinite(traffic.work), sizes), WAYS + 1))
    program = Program.of(traffic, classes) if len(ways) <= WAYS else None
    if program is None:
        return 0.0
    least = math.inf
    for places, fixed in ways:
        prices = program.prices(places, fixed, effort)
        least = min(least, traffic.proven(places, fixed, prices) if prices is not None else 0.0)
        if least <= enough:
            return 0.0
    return least


def _hubs(
    problem: Problem,
    release: NDArray[np.int64],
    delivery: NDArray[np.int64],
    ends: tuple[int, int],
    room: float,
    most: int,
) -> list[int]:
    """The operations that share most tensors with those of a window, ``most`` of them at most.

    Each shares MANY of them, is of another class than the others, and makes both ends of the
    window, ``ends``, wider by ``room`` nanoseconds at most, together.
    """
    graph = problem.graph
    tensors, readers = graph.edges
    makers = graph.producer
    first, last = ends
    inside = (release >= first) & (delivery >= last)
    near = np.minimum(release, first) + np.minimum(delivery, last) >= first + last - room
    read = np.bincount(tensors[inside[readers]], minlength=graph.n_tensors) > 0
    tied = np.bincount(makers[read], minlength=graph.n_ops)
    tied += np.bincount(readers[inside[makers[tensors]]], minlength=graph.n_ops)
    tied[~near] = 0
    order = np.argsort(-tied, kind="stable")
    enough = order[: np.count_nonzero(tied >= MANY)]
    other = np.sort(np.unique(graph.colocation[enough], return_index=True)[1])
    return [int(op) for op in enough[other[:most]]]


def _ways(
    hubs: Sequence[int],
    allowed: Bools,
    sizes: NDArray[np.int64],
    kinds: tuple[int, ...] = (),
    where: Mapping[int, int] = NOWHERE,
) -> Iterator[tuple[list[Place], Mapping[int, int]]]:
    """Every way to put hubs on devices, which of a kind is alike: (places, place of each hub).

    ``kinds`` are those of the devices that have hubs already, and ``where`` says which has which.
    """
    if len(where) == len(hubs):
        left = [int(size) - kinds.count(kind) for kind, size in enumerate(sizes)]
        rest = [Place(kind, devices) for kind, devices in enumerate(left) if devices]
        yield [*(Place(kind, 1) for kind in kinds), *rest], where
        return
    hub = hubs[len(where)]
    for at, kind in enumerate(kinds):
        if allowed[hub, kind]:
            yield from _ways(hubs, allowed, sizes, kinds, {**where, hub: at})
    for kind in np.flatnonzero(allowed[hub]).tolist():
        if kinds.count(kind) < sizes[kind]:
            longer = {**where, hub: len(kinds)}
            yield from _ways(hubs, allowed, sizes, (*kinds, kind), longer)


def _channels(machine: Machine, alike: Alike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[kinds] each: how many channels lead from, and to, a device of the kind at most."""
    _, first, second = machine.channels
    outlets = np.zeros(len(alike.firsts), np.int64)
    inlets = outlets.copy()
    for device, kind in enumerate(alike.kind):
        others = np.arange(machine.n_devices) != device
        away, here = first[device, others], (first[others, device], second[others, device])
        outlets[kind] = max(outlets[kind], len(np.unique(away)))
        inlets[kind] = max(inlets[kind], len(np.unique(np.where(here[1] < 0, *here))))
    return outlets, inlets
