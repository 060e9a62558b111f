"""A step up to some time, and on from there again and again, with operations elsewhere.

A search that changes what happens late in a step need not simulate what comes before it. What has
happened by then is kept as a copy of the scratch memory; a kernel of the search's own restores it,
says where operations are now, and handles events as the simulation of a whole step does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.compilation import inline
from suite.simulator.compiled.events import start_operation
from suite.simulator.compiled.heap import pop
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.one_event import handle
from suite.simulator.compiled.reset import reset
from suite.simulator.compiled.rules import DETAILED, LONG, Rules, compiled_by
from suite.simulator.compiled.state import Totals, Work, workspace


def roomy_workspace(flat: Layout, rules: Rules) -> tuple[Work, Totals]:
    """Scratch memory in which each device has room for all operations in its ready queue."""
    work, totals = workspace(flat, rules)
    ops, devices = len(flat.graph.duration), len(flat.graph.kind)
    return work._replace(ready=np.empty(ops * devices, np.int32)), totals


@cache
def compiled(function: Callable[..., int], rules: Rules) -> Callable[..., int]:
    """A function of this kind, for a set of rules; it is compiled when it is first called."""
    return compiled_by(rules, function)


def simulate_before(
    flat: Layout, w: Work, totals: Totals, devices: NDArray[np.int32], until: int
) -> int:
    """Simulate all that happens before a time, in nanoseconds; returns the number of requests.

    ``w`` is of :func:`roomy_workspace`.
    """
    requests = reset(flat, w, totals, devices)
    ops = len(devices)
    # From the last device on, so that no slice is overwritten before it has moved to its place.
    for back in range(len(w.used)):
        device = len(w.used) - 1 - back
        head, count = w.ready_head[device], w.ready_tail[device] - w.ready_head[device]
        for i in range(count):
            at = count - 1 - i
            w.ready[device * ops + at] = w.ready[head + at]
        w.ready_head[device] = device * ops
        w.ready_tail[device] = device * ops + count
        if DETAILED and flat.stack:
            head, count = w.remote_head[device], w.remote_head[device] - w.remote_tail[device]
            last = (device + 1) * ops - 1
            for i in range(count):
                w.ready[last - i] = w.ready[head - i]
            w.remote_head[device] = last
            w.remote_tail[device] = last - count
    for device in range(len(w.used)):
        start_operation(flat, w, totals, device, 0)
    while w.heap[-1] > 0 and next_time(flat, w) < until:
        now, index = pop(flat, w)
        requests = handle(flat, w, totals, now, index, requests)
    return requests


@inline
def next_time(flat: Layout, w: Work) -> int:
    """When the first pending event happens, in nanoseconds; there is one."""
    time: int = w.heap[0] if LONG else w.heap[0] >> flat.rank_bits
    return time


@inline
def next_number(flat: Layout, w: Work) -> int:
    """Whose the first pending event is: a lane's, or a request's behind those."""
    number: int = w.heap_number[0] if LONG else w.heap[0] & ((1 << flat.rank_bits) - 1)
    return number


@inline
def restore(w: Work, kept: Work, requests: int) -> None:
    """Copy back what may have changed since ``kept``, when there were so many requests.

    Times, memory and what has been sent in all are left as they are.
    """
    _copy(w.state, kept.state, len(kept.state))
    _copy(w.first_edge, kept.first_edge, requests)
    _copy(w.following, kept.following, requests)
    _copy(w.running, kept.running, len(kept.running))
    _copy(w.computing, kept.computing, len(kept.computing))
    _copy(w.since, kept.since, len(kept.since))
    _copy(w.owed, kept.owed, len(kept.owed))
    for device in range(len(kept.ready_head)):
        w.ready_head[device] = kept.ready_head[device]
        w.ready_tail[device] = kept.ready_tail[device]
        for at in range(kept.ready_head[device], kept.ready_tail[device]):
            w.ready[at] = kept.ready[at]
        if DETAILED:
            w.remote_head[device] = kept.remote_head[device]
            w.remote_tail[device] = kept.remote_tail[device]
            for at in range(kept.remote_tail[device] + 1, kept.remote_head[device] + 1):
                w.ready[at] = kept.ready[at]
    _copy(w.queue_head, kept.queue_head, len(kept.queue_head))
    _copy(w.queue_tail, kept.queue_tail, len(kept.queue_tail))
    _copy(w.occupied, kept.occupied, len(kept.occupied))
    _copy(w.waiting, kept.waiting, len(kept.waiting))
    _copy(w.busy, kept.busy, len(kept.busy))
    pending = kept.heap[-1]
    _copy(w.heap, kept.heap, pending)
    w.heap[-1] = pending
    if LONG:
        _copy(w.heap_number, kept.heap_number, pending)
    w.fresh[-1] = 0


@inline
def _copy(to: NDArray[Any], of: NDArray[Any], count: int) -> None:
    for i in range(count):
        to[i] = of[i]
