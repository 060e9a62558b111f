"""Devices that transfers keep from computing, or wait for (``DETAILED``)."""

from __future__ import annotations

import numpy as np

from suite.core.compilation import inline
from suite.simulator.compiled.heap import push
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.links import FlatLinks
from suite.simulator.compiled.ready import nothing_ready
from suite.simulator.compiled.rules import AT_ONCE
from suite.simulator.compiled.state import IDLE, PAUSED, Work

SENDER, RECEIVER, PER_BYTE = range(3)
"""Rows of ``FlatLinks.occupancy``."""


@inline
def pause(flat: Layout, w: Work, lane: int, device: int, now: int, first: int, end: int) -> None:
    """Keep a device's lane from computing for what the device owes, and for what it sends: requests
    first...end.
    """
    lost = w.owed[device]
    w.owed[device] = 0
    for number in range(first, end):
        size = flat.graph.size[w.tensor[number]]
        lost += _occupancy(flat.links, SENDER, device, w.target[number], size)
    if lost > 0:
        w.running[lane] = PAUSED
        push(flat, w, now + lost, lane)


@inline
def owe(flat: Layout, w: Work, number: int) -> None:
    """Note what an arrival costs its receiver.

    One that is idle loses nothing; one that computes, in all of its lanes, goes on, and pauses
    afterwards.
    """
    source, target = w.source[number], w.target[number]
    if _occupied(flat, w, target):
        size = flat.graph.size[w.tensor[number]]
        w.owed[target] += _occupancy(flat.links, RECEIVER, source, target, size)


@inline
def wait_for_core(flat: Layout, w: Work, source: int, target: int) -> int:
    """Nanoseconds that a transfer waits for a core of its sender, where that computes on."""
    if nothing_ready(flat, w, source) and not _computes(w, source):
        return 0
    waits: int = flat.links.scheduling[source, target]
    return waits


@inline
def _computes(w: Work, device: int) -> bool:
    computes: bool = w.computing[device] > 0 if AT_ONCE else w.running[device] >= 0
    return computes


@inline
def _occupied(flat: Layout, w: Work, device: int) -> bool:
    if AT_ONCE:
        for lane in range(flat.graph.first_lane[device], flat.graph.first_lane[device + 1]):
            if w.running[lane] == IDLE:
                return False
        return True
    occupied: bool = w.running[device] != IDLE
    return occupied


@inline
def _occupancy(links: FlatLinks, side: int, source: int, target: int, size: int) -> int:
    """Nanoseconds for which a transfer keeps its sender or its receiver from computing."""
    per_byte = links.occupancy[PER_BYTE, source, target]
    seconds = links.occupancy[side, source, target] + size * per_byte
    return int(np.rint(1e9 * seconds))
