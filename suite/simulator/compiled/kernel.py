"""The compiled step: the only functions of the simulation that are compiled on their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.compilation import count, inline
from suite.simulator.compiled.events import start_operation
from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.one_event import handle
from suite.simulator.compiled.reset import reset
from suite.simulator.compiled.rules import AT_ONCE, TIMED, Rules, compiled_by
from suite.simulator.compiled.state import Totals, Work


def simulate(
    flat: Layout, w: Work, totals: Totals, devices: NDArray[np.int32], deadline: int
) -> tuple[int, int]:
    """Simulate one placement: (nanoseconds, number of requests).

    With a deadline (``TIMED``), a step that takes longer is broken off when a device cannot compute
    the rest of its operations in time; its nanoseconds are those it takes at least, negated.
    """
    requests = reset(flat, w, totals, devices)
    for device in range(len(w.used)):
        start_operation(flat, w, totals, device, 0)
    now = 0
    while w.heap[-1] > 0:
        now, index = pop(flat, w)
        if TIMED and index < len(w.running):
            # Longest paths to the end would hardly tell earlier (docs/baselines.md).
            least = now + _left(flat, w, totals, index)
            if least > deadline:
                return -least, requests
        requests = handle(flat, w, totals, now, index, requests)
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
    one = compiled_by(rules, simulate)
    return Kernels(one, compiled_by(rules, simulate_many, {"simulate": one}))
