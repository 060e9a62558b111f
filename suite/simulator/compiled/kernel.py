"""The compiled step: the only functions of the simulation that are compiled on their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.compilation import count, inline, lean_kernel, with_globals
from suite.simulator.compiled.channels import end_hold, serve, submit
from suite.simulator.compiled.events import end_operation, end_transfer, join, start_operation
from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.occupancy import owe, pause
from suite.simulator.compiled.reset import reset
from suite.simulator.compiled.rules import AT_ONCE, BOOKED, BROADCAST, DETAILED, TIMED, Rules
from suite.simulator.compiled.state import Totals, Work


def simulate(
    flat: Layout, w: Work, totals: Totals, devices: NDArray[np.int32], deadline: int
) -> tuple[int, int]:
    """Simulate one placement: (nanoseconds, number of requests).

    With a deadline (``TIMED``), a step that takes longer is broken off when a device cannot compute
    the rest of its operations in time; its nanoseconds are those it takes at least, negated.
    """
    requests = reset(flat, w, totals, devices)
    lanes, edges = len(w.running), len(w.tensor)
    for device in range(len(w.used)):
        start_operation(flat, w, totals, device, 0)
    now = 0
    while w.heap[-1] > 0:
        now, index = pop(flat, w)
        before = requests
        if AT_ONCE and index >= lanes + edges:
            end_hold(flat, w, totals, index - lanes - edges, now)
            continue
        line = -1
        if index < lanes:
            if TIMED:
                # Longest paths to the end would hardly tell earlier (docs/baselines.md).
                least = now + _left(flat, w, totals, index)
                if least > deadline:
                    return -least, requests
            device = flat.graph.lane_device[index] if AT_ONCE else index
            requests = end_operation(flat, w, totals, index, device, now, requests)
            requests = join(flat, w, totals, device, now, requests, False)
            if DETAILED:
                pause(flat, w, index, device, now, before, requests)
        else:
            device = w.target[index - lanes]
            line = end_transfer(flat, w, index - lanes, now)
            requests = join(flat, w, totals, device, now, requests, True)
            if DETAILED:
                owe(flat, w, index - lanes)
        # Below, what follows any event stands once: each copy of it would take long to compile.
        if BROADCAST and index >= lanes:
            for other in range(len(w.used)):
                start_operation(flat, w, totals, other, now)
        else:
            start_operation(flat, w, totals, device, now)
        # In one event, operations start before transfers.
        if not BOOKED:
            if index < lanes:
                for number in range(before, requests):
                    submit(flat, w, totals, number, now)
            elif not AT_ONCE and line >= 0:
                serve(flat, w, totals, line, now)
    if TIMED and now > deadline:
        return -now, requests
    return now, requests


@inline
def _left(flat: Layout, w: Work, totals: Totals, lane: int) -> int:
    """Nanoseconds that the lane's device certainly takes for what it has not begun (``TIMED``)."""
    if AT_ONCE:
        device = flat.graph.lane_device[lane]
        several = flat.graph.first_lane[device + 1] - flat.graph.first_lane[device]
        shared: int = (w.load[device] - w.begun[device]) // several
        return shared
    left: int = w.load[lane] - totals.busy[lane]
    return left


def simulate_many(
    flat: Layout,
    w: Work,
    totals: Totals,
    devices: NDArray[np.int32],
    deadlines: NDArray[np.int64],
    ends: NDArray[np.int64],
    peaks: NDArray[np.int64],
    begun: NDArray[np.int64],
) -> None:
    """Simulate int32[batch, ops], each up to its deadline; fills in ``ends`` and ``peaks``.

    Several threads may do so at once: ``begun``, int64[1], counts what any of them has begun.
    """
    i = count(begun)
    while i < len(devices):
        ends[i], _ = simulate(flat, w, totals, devices[i], deadlines[i])
        for device in range(peaks.shape[1]):
            peaks[i, device] = totals.peak[device]
        i = count(begun)


class Kernels(NamedTuple):
    """Both functions, compiled."""

    simulate: Callable[..., tuple[int, int]]
    simulate_many: Callable[..., None]


@cache
def kernels(rules: Rules) -> Kernels:
    """The functions for a set of rules; each is compiled when it is first called."""
    each = rules._asdict()
    named = {name.upper(): on for name, on in each.items()}
    variant = "-".join(name for name, on in each.items() if on)
    one = lean_kernel(with_globals(simulate, named), variant)
    return Kernels(one, lean_kernel(with_globals(simulate_many, {"simulate": one}), variant))
