"""Earliest task first: the ready operation that can start first, where it can (Hwang et al. 1989).

Starts never decrease from one choice to the next, since what becomes ready then starts after its
parents: a gap that is left is never wanted again, and inserting into gaps would change nothing.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.list_scheduler import Plan, Units, commit, finish, fits, prepare
from baselines.list_scheduling.memory_tracker import MemoryTracker
from baselines.list_scheduling.transfer_queues import (
    TransferQueues,
    arrives,
    fetch,
    idle_queues,
    make,
)
from baselines.list_scheduling.work import Rows, Work, row, rows
from suite.core.arrays import Bools, Ints
from suite.core.compilation import kernel
from suite.core.placement import Placement
from suite.core.problem import Problem

Heap = list[tuple[float, int]]
"""Times, and places in the order."""
Waiting = tuple[list[Heap], list[Heap], list[Heap], NDArray[np.int64], NDArray[np.bool_]]
"""See :func:`_empty_queues`."""
Links = tuple[TransferQueues, bool]
"""Transfers so far, and whether they queue."""
Ready = tuple[Ints, Bools, Ints, Ints, Ints]
"""int64[ops] inputs that are missing, bool[ops] whether placed, int64[devices] the favourite child
that a device waits for or -1, int64[ops] the order, int64[ops] each operation's place in it."""


def earliest_first(
    problem: Problem,
    units: Units,
    order: NDArray[np.int64] | None = None,
    favourite: NDArray[np.int64] | None = None,
    *,
    queued: bool = False,
) -> Placement:
    """Schedule the ready operation that can start first until all are placed.

    Only the first operation of a unit has a choice, among the GPUs with room. Transfers take
    latency + bytes / bandwidth; if ``queued``, a device sends or receives one at a time. Ties
    go to what comes first in ``order`` (int64[ops], default: the graph's), then to the first
    device. A device whose last operation has a ``favourite`` child (int64[ops], or -1) waits for
    it: others start there no earlier than their inputs can be on every GPU (the urgent tasks of
    m-SCT). Raises Unsupported without a GPU, or when a unit fits on none any more.
    """
    work, plan, tracker = prepare(problem, units)
    n_ops = problem.graph.n_ops
    order = np.arange(n_ops) if order is None else order
    favourite = np.full(n_ops, -1, np.int64) if favourite is None else favourite
    gpus = np.array(problem.machine.accelerators, np.int64)
    missing = np.diff(problem.graph.inputs[0])
    members = rows(
        np.concatenate([[0], np.cumsum(np.bincount(units[0], minlength=len(units[1])))]),
        np.argsort(units[0], kind="stable"),
    )
    stuck = _earliest_first(
        work, plan, tracker, idle_queues(problem), members, missing, order, favourite, gpus, queued
    )
    return finish(problem, units, plan, stuck)


@kernel
def _earliest_first(
    work: Work,
    plan: Plan,
    tracker: MemoryTracker,
    transfers: TransferQueues,
    members: Rows,
    missing: Ints,
    order: Ints,
    favourite: Ints,
    gpus: Ints,
    queued: bool,
) -> int:
    """Fill in the plan; return -1, or an operation that is not placed when no ready one fits."""
    n_ops, count = work.seconds.shape
    place = np.empty(n_ops, np.int64)
    place[order] = np.arange(n_ops)
    done = np.zeros(n_ops, np.bool_)
    child = np.full(count, -1)
    queues = _empty_queues(count, n_ops)
    ready = (missing, done, child, order, place)
    links = (transfers, queued)
    for op in order:
        if missing[op] == 0:
            _enqueue(work, plan, queues, place, gpus, op)
    for _ in range(n_ops):
        best, best_place, best_device = np.inf, n_ops, -1
        for device in range(count):
            start, found = _candidate(work, plan, tracker, links, queues, ready, device)
            if found < n_ops and (start < best or (start == best and found < best_place)):
                best, best_place, best_device = start, found, device
        if best_device < 0:
            return int(np.argmin(done))
        chosen = int(order[best_place])
        # What had no room here may have some: a copy that it would bring comes with this one, which
        # may free more than that, or the device of its unit is decided.
        for tensor in row(work.inputs, chosen):
            if tracker.buffer[tensor, best_device] < 0:
                for reader in row(work.readers, tensor):
                    _look_again(plan, queues, place, gpus, reader, best_device)
        if plan.devices[work.unit[chosen]] < 0:
            for member in row(members, work.unit[chosen]):
                _look_again(plan, queues, place, gpus, member, best_device)
        fetch(transfers, work, row(work.inputs, chosen), best_device)
        end = commit(work, plan, tracker, chosen, best_device, best)
        make(transfers, row(work.outputs, chosen), best_device, end)
        done[chosen] = True
        # Nobody waits any longer for what is placed.
        child[child == chosen] = -1
        heir = favourite[chosen]
        child[best_device] = -1 if heir < 0 or done[heir] else heir
        for tensor in row(work.outputs, chosen):
            for reader in row(work.readers, tensor):
                missing[reader] -= 1
                if missing[reader] == 0:
                    _enqueue(work, plan, queues, place, gpus, reader)
    return -1


@kernel
def _empty_queues(count: int, n_ops: int) -> Waiting:
    """Two pairs of heaps a device, what had no room there, and the bytes taken at that time.

    Last, bool[queues, places in the order]: what is put aside for want of room.
    (key, place in the order) until the key is past; then (0, place). The key is the time when the
    inputs can be on the device, or on every GPU: for while it waits for a favourite child.
    """
    # Lists of no entry tell the compiler what their entries will be.
    empty = (0.0, 0)
    coming = [[empty for _ in range(0)] for _ in range(2 * count)]
    waiting = [[empty for _ in range(0)] for _ in range(2 * count)]
    crowded = [[empty for _ in range(0)] for _ in range(2 * count)]
    aside = np.zeros((2 * count, n_ops), np.bool_)
    return coming, waiting, crowded, np.zeros(2 * count, np.int64), aside


@kernel
def _enqueue(work: Work, plan: Plan, queues: Waiting, place: Ints, gpus: Ints, op: int) -> None:
    """Add a ready operation to the queues of the devices it may go to."""
    unit = work.unit[op]
    for device in range(len(plan.counts)):
        decided = plan.devices[unit]
        if decided == device or (decided < 0 and work.allowed[unit, device]):
            arrival, urgent = _keys(plan, gpus, op, device)
            heappush(queues[0][device], (arrival, place[op]))
            heappush(queues[0][len(plan.counts) + device], (urgent, place[op]))


@kernel
def _keys(plan: Plan, gpus: Ints, op: int, device: int) -> tuple[float, float]:
    """When an operation's inputs can be on the device, and there and on every GPU."""
    arrival = urgent = plan.arrival[op, device]
    for gpu in gpus:
        urgent = max(urgent, plan.arrival[op, gpu])
    return arrival, urgent


@kernel
def _look_again(plan: Plan, queues: Waiting, place: Ints, gpus: Ints, op: int, device: int) -> None:
    """Put what was put aside for want of room back into the queues of this device."""
    count, aside = len(plan.counts), queues[4]
    arrival, urgent = _keys(plan, gpus, op, device)
    if aside[device, place[op]]:
        aside[device, place[op]] = False
        heappush(queues[0][device], (arrival, place[op]))
    if aside[count + device, place[op]]:
        aside[count + device, place[op]] = False
        heappush(queues[0][count + device], (urgent, place[op]))


@kernel
def _candidate(
    work: Work,
    plan: Plan,
    tracker: MemoryTracker,
    links: Links,
    queues: Waiting,
    ready: Ready,
    device: int,
) -> tuple[float, int]:
    """Start and place in the order of the operation that can start first on a device."""
    missing, done, child, order, place = ready
    busy = plan.counts[device]
    free = plan.busy[1, device, busy - 1] if busy else 0.0
    awaited = child[device]
    if awaited >= 0 and plan.devices[work.unit[awaited]] not in (-1, device):
        awaited = -1
    queue = device if awaited < 0 else len(child) + device
    start, found = _head(work, plan, tracker, links, queues, done, order, device, queue, free)
    if awaited >= 0 and missing[awaited] == 0 and fits(work, plan, tracker, awaited, device):
        soon = max(free, _arrival(work, plan, links, awaited, device))
        if soon < start or (soon == start and place[awaited] < found):
            return soon, place[awaited]
    return start, found


@kernel
def _head(
    work: Work,
    plan: Plan,
    tracker: MemoryTracker,
    links: Links,
    queues: Waiting,
    done: Bools,
    order: Ints,
    device: int,
    queue: int,
    free: float,
) -> tuple[float, int]:
    """The first operation of a queue that fits.

    What does not is put aside till memory is freed, or it is looked at again.
    """
    coming, waiting, crowded = queues[0][queue], queues[1][queue], queues[2][queue]
    aside = queues[4][queue]
    if tracker.used[device] < queues[3][queue]:
        while len(crowded):
            key, found = crowded.pop()
            # Else it is back already.
            if aside[found]:
                aside[found] = False
                heappush(coming, (key, found))
    while True:
        while len(coming) and coming[0][0] <= free:
            heappush(waiting, (0.0, heappop(coming)[1]))
        from_waiting = len(waiting) > 0
        if not from_waiting and not len(coming):
            return np.inf, len(order)
        key, found = waiting[0] if from_waiting else coming[0]
        op = order[found]
        if not done[op] and fits(work, plan, tracker, op, device):
            # Queued transfers may have become later since the key was made.
            key = max(key, _arrival(work, plan, links, op, device))
            if key <= free or (not from_waiting and key == coming[0][0]):
                return max(free, key), found
            if from_waiting:
                heappop(waiting)
            else:
                heappop(coming)
            heappush(coming, (key, found))
            continue
        if from_waiting:
            heappop(waiting)
        else:
            heappop(coming)
        if not done[op] and plan.devices[work.unit[op]] < 0:
            crowded.append((key, found))
            aside[found] = True
            queues[3][queue] = tracker.used[device]


@kernel
def _arrival(work: Work, plan: Plan, links: Links, op: int, device: int) -> float:
    transfers, queued = links
    if queued:
        return arrives(transfers, work, row(work.inputs, op), device)
    arrival: float = plan.arrival[op, device]
    return arrival
