"""What happens when an operation or a transfer ends, and when an operation starts."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.booked import book
from suite.simulator.compiled.channels import let_go
from suite.simulator.compiled.heap import push
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.memory import allocate, allocate_outputs, free, leave, release
from suite.simulator.compiled.ready import dequeue, enqueue, nothing_ready, receive, sort_fresh
from suite.simulator.compiled.rules import (
    ALLOC_AT_END,
    AT_ONCE,
    BLOCKS,
    BOOKED,
    BOUNDED,
    BROADCAST,
    PAUSING,
    RESTING,
    TRAILING,
)
from suite.simulator.compiled.state import DEVICE_MASK, IDLE, PAUSED, Totals, Work
from suite.simulator.compiled.transfers import publish


@inline
def start_operation(flat: Layout, w: Work, totals: Totals, device: int, now: int) -> None:
    """If the device is idle, run the head of its queue; of several lanes, on each that is."""
    if AT_ONCE:
        for lane in range(flat.graph.first_lane[device], flat.graph.first_lane[device + 1]):
            if w.running[lane] == IDLE and not nothing_ready(flat, w, device):
                _begin(flat, w, totals, lane, device, now)
    elif w.running[device] == IDLE and not nothing_ready(flat, w, device):
        _begin(flat, w, totals, device, device, now)


@inline
def _begin(flat: Layout, w: Work, totals: Totals, lane: int, device: int, now: int) -> None:
    op = dequeue(flat, w, device)
    w.running[lane] = op
    w.op_start[op] = now
    duration = flat.graph.duration[op, flat.graph.kind[device]]
    if AT_ONCE:
        if w.computing[device] == 0:
            w.since[device] = now
        w.computing[device] += 1
        w.begun[device] += duration
    else:
        totals.busy[device] += duration
    push(flat, w, now + duration, lane)
    if BLOCKS:
        allocate(w, totals, device, flat.graph.block[op])
    elif BOUNDED:
        allocate(w, totals, device, flat.graph.taken[op])
    elif not ALLOC_AT_END:
        allocate_outputs(flat.graph, w, totals, op, device)


@inline
def end_operation(
    flat: Layout, w: Work, totals: Totals, lane: int, device: int, now: int, requests: int
) -> int:
    """Handle the end of what runs in a lane, of which a device may have several if ``AT_ONCE``.

    Returns the number of requests there are now.
    """
    op = w.running[lane]
    w.running[lane] = IDLE
    if AT_ONCE and op >= 0:
        w.computing[device] -= 1
        if w.computing[device] == 0:
            totals.busy[device] += now - w.since[device]
    if RESTING and op >= 0 and flat.graph.rest[op, flat.graph.kind[device]] > 0:
        w.running[lane] = PAUSED
        push(flat, w, now + flat.graph.rest[op, flat.graph.kind[device]], lane)
    # Where devices pause, what ends may be a pause.
    if not PAUSING or op >= 0:
        requests = _finish(flat, w, totals, op, device, requests)
    return requests


@inline
def end_transfer(flat: Layout, w: Work, number: int, now: int) -> int:
    """Handle an arrival, or the end of what trails it; returns the queue whose channels are freed.

    -1 where none are.
    """
    source = w.source[number]
    edge = w.first_edge[number]
    line = -1
    if not BOOKED and not AT_ONCE and not (TRAILING and edge >= 0):
        line = flat.links.queue[source, w.target[number]]
        let_go(flat.links, w, line)
    if TRAILING and edge >= 0:
        w.first_edge[number] = -1
        after = now + flat.links.trail[source, w.target[number]]
        push(flat, w, after, len(w.running) + number)
    if not BLOCKS and not BOUNDED and not (TRAILING and edge < 0):
        release(flat.graph, w, w.tensor[number], source)
    while edge >= 0:
        receive(w, flat.graph.consumer[edge])
        edge = w.chain[edge]
    return line


@inline
def _finish(flat: Layout, w: Work, totals: Totals, op: int, device: int, requests: int) -> int:
    """Free what an operation read, publish what it produced; the number of requests is returned."""
    graph = flat.graph
    if BOUNDED:
        w.used[device] -= graph.returned[op]
    else:
        for k in range(graph.in_start[op], graph.in_start[op + 1]):
            edge = graph.in_edge[k]
            if BLOCKS:
                leave(graph, w, graph.edge_source[edge])
            else:
                release(graph, w, w.edge_instance[edge], device)
    if BLOCKS:
        w.used[device] -= graph.unread[op]
    if ALLOC_AT_END:
        allocate_outputs(graph, w, totals, op, device)
    for k in range(graph.out_start[op], graph.out_start[op + 1]):
        tensor = graph.out_tensor[k]
        requests = publish(flat, w, totals, tensor, device, requests)
        # What nobody reads is done at once.
        if not BLOCKS and not BOUNDED and w.uses[tensor] == 0:
            free(graph, w, tensor, device)
    return requests


@inline
def join(
    flat: Layout, w: Work, totals: Totals, device: int, now: int, requests: int, remote: bool
) -> int:
    """Put the operations that became ready into their queues, in topological order.

    ``remote``: by a transfer. Returns the number of requests there are now.
    """
    for i in range(sort_fresh(w)):
        op = w.fresh[i]
        at = w.state[op] & DEVICE_MASK if BROADCAST else device
        enqueue(flat, w, op, at, remote)
        if BOOKED:
            requests = book(flat, w, totals, op, at, now, requests)
    return requests
