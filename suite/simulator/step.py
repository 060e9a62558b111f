"""The compiled simulator: docs/simulator.md over flat arrays, the same bits as reference.py.

What makes it fast: FIFO queues leave at most one pending event per device and per channel, so the
event heap is tiny; one integer key orders events; an operation's missing inputs and its device
share one word; remote readers are chained per destination, so an arrival touches only its own.
"""

from __future__ import annotations

import os
import queue
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.cpython.unsafe.numbers import trailing_zeros
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints
from suite.core.cores import my_share
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.simulator.layout import ON, Layout, layout
from suite.simulator.result import StepResult, TooLong, check_policy, own_policy
from suite.simulator.semantics import PLACEBENCH, Semantics

# Nothing here allocates, so numba's reference counting can go: with it, every access to an array of
# a named tuple counts, and a step takes 30 times as long. Inlined before typing, helpers cost
# nothing (benchmarks/simulator.md).
_OPTIONS = {"nogil": True, "_nrt": False}
jit = numba.njit(cache=True, **_OPTIONS)
inline = numba.njit(inline="always", **_OPTIONS)
_DEVICE_BITS = 8
_DEVICE_MASK = (1 << _DEVICE_BITS) - 1


class Work(NamedTuple):
    """Scratch memory of one simulation. Instances: originals by tensor, then copies by request."""

    state: NDArray[np.int32]
    """int32[ops]: missing inputs << 8 | device."""
    uses: NDArray[np.int32]
    """int32[instances]: consumers and transfers that still need the instance."""
    buffer: NDArray[np.int32]
    """int32[instances]: the instance whose buffer it shares."""
    sharers: NDArray[np.int32]
    """int32[instances]: instances in the buffer."""
    edge_instance: NDArray[np.int32]
    """int32[edges]: the instance that the consumer reads."""
    chain: NDArray[np.int32]
    """int32[edges]: next edge to the same destination, or -1."""
    tensor: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    head: NDArray[np.int32]
    following: NDArray[np.int32]
    """int32[requests]: what is sent, from where, to where; first edge; next request in queue."""
    requested: NDArray[np.int64]
    started: NDArray[np.int64]
    ended: NDArray[np.int64]
    """int64[requests]: nanoseconds."""
    op_start: NDArray[np.int64]
    """int64[ops]: nanoseconds."""
    ready: NDArray[np.int32]
    """int32[ops]: ready operations, a slice per device."""
    ready_head: NDArray[np.int64]
    ready_tail: NDArray[np.int64]
    running: NDArray[np.int32]
    """int64, int64, int32 [devices]; what runs is -1 on an idle device, -2 on a pausing one."""
    late_head: NDArray[np.int64]
    late_tail: NDArray[np.int64]
    """int64[devices]: the end of a slice, filled downwards, queues what transfers made ready
    (``detailed``)."""
    owed: NDArray[np.int64]
    """int64[devices]: nanoseconds for which arrivals will keep it from computing (``detailed``)."""
    queue_head: NDArray[np.int32]
    queue_tail: NDArray[np.int32]
    """int32[queues]: waiting requests, or -1."""
    occupied: NDArray[np.bool_]
    """bool[channels]."""
    waiting: NDArray[np.uint64]
    """uint64[channels]: the queues of the channel that are not empty, by their bit."""
    busy: NDArray[np.uint64]
    """uint64[1]: the occupied channels that share queues with others, by their bit."""
    heap: NDArray[np.int64]
    """int64[devices + channels + 1], with edges for channels if transfers are booked: keys of
    pending events; the last entry is their number."""
    fresh: NDArray[np.int32]
    """int32[ops + 1]: operations made ready by this event; the last entry is their number."""
    last: NDArray[np.int32]
    """int32[devices]: request of the tensor at hand to each device, or -1."""
    used: NDArray[np.int64]
    """int64[devices]: bytes allocated."""
    left: NDArray[np.int32]
    """int32[ops]: readers of its outputs that have not ended (``blocks``)."""
    device_free: NDArray[np.int64]
    channel_free: NDArray[np.int64]
    """int64[devices]: nanoseconds up to which they are booked (``booked``)."""
    load: NDArray[np.int64]
    """int64[devices]: nanoseconds that each computes (``timed``)."""


class Totals(NamedTuple):
    """What one simulation adds up."""

    busy: NDArray[np.int64]
    peak: NDArray[np.int64]
    moved: NDArray[np.int64]


def workspace(flat: Layout) -> Work:
    """Allocate scratch memory for a problem."""
    ops, devices = flat.duration.shape
    channels, edges = len(flat.channel_mask), len(flat.consumer)
    instances = len(flat.size) + edges
    sizes = {"state": ops, "uses": instances, "buffer": instances, "sharers": instances}
    sizes |= {"edge_instance": edges, "chain": edges, "tensor": edges, "source": edges}
    sizes |= {"target": edges, "head": edges, "following": edges}
    sizes |= {"ready": ops, "fresh": ops + 1, "left": ops}
    sizes |= {"running": devices, "last": devices}
    sizes |= {"queue_head": len(flat.first), "queue_tail": len(flat.first)}
    long = {"requested": edges, "started": edges, "ended": edges, "op_start": ops}
    long |= {"ready_head": devices, "ready_tail": devices, "used": devices}
    long |= {"late_head": devices, "late_tail": devices, "owed": devices}
    long |= {"device_free": devices, "channel_free": devices, "load": devices}
    long |= {"heap": devices + (edges if flat.booked else channels) + 1}
    arrays: dict[str, Any] = {name: np.empty(n, np.int32) for name, n in sizes.items()}
    arrays |= {name: np.empty(n, np.int64) for name, n in long.items()}
    arrays |= {"waiting": np.empty(channels, np.uint64), "busy": np.empty(1, np.uint64)}
    return Work(occupied=np.empty(channels, np.bool_), **arrays)


@inline
def _push(heap: Any, key: Any) -> None:
    i = heap[-1]
    heap[-1] += 1
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent] <= key:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = key


@inline
def _pop(heap: Any) -> Any:
    top = heap[0]
    heap[-1] -= 1
    n = heap[-1]
    key = heap[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = key
    return top


@inline
def _allocate(w: Any, totals: Any, device: Any, size: Any) -> None:
    w.used[device] += size
    if w.used[device] > totals.peak[device]:
        totals.peak[device] = w.used[device]


@inline
def _release(flat: Any, w: Any, instance: Any, device: Any) -> None:
    """One use of an instance is over; free its buffer when all instances in it are done."""
    w.uses[instance] -= 1
    if w.uses[instance] == 0:
        _free(flat, w, instance, device)


@inline
def _free(flat: Any, w: Any, instance: Any, device: Any) -> None:
    originals = len(flat.size)
    tensor = instance if instance < originals else w.tensor[instance - originals]
    if not flat.shared[tensor]:
        w.used[device] -= flat.held[tensor]
        return
    buffer = w.buffer[instance]
    w.sharers[buffer] -= 1
    if w.sharers[buffer] == 0:
        owner = buffer if buffer < originals else w.tensor[buffer - originals]
        w.used[device] -= flat.held[owner]


@inline
def _enqueue(flat: Any, w: Any, op: Any, device: Any, late: Any) -> None:
    """Add a ready operation to its device's queue: a FIFO slice, a heap of ranks, or a stack with
    a queue of the ``late`` ones, which the device's own work did not make ready.
    """
    if flat.detailed and flat.stack and late:
        w.ready[w.late_tail[device]] = op
        w.late_tail[device] -= 1
        return
    tail = w.ready_tail[device]
    w.ready_tail[device] += 1
    if flat.fifo or (flat.detailed and flat.stack):
        w.ready[tail] = op
        return
    base = w.ready_head[device]
    i = tail - base
    rank = flat.rank[op]
    while i > 0:
        parent = (i - 1) >> 1
        if w.ready[base + parent] <= rank:
            break
        w.ready[base + i] = w.ready[base + parent]
        i = parent
    w.ready[base + i] = rank


@inline
def _nothing_ready(flat: Any, w: Any, device: Any) -> Any:
    if flat.detailed and w.late_head[device] != w.late_tail[device]:
        return False
    return w.ready_head[device] == w.ready_tail[device]


@inline
def _dequeue(flat: Any, w: Any, device: Any) -> Any:
    base = w.ready_head[device]
    if flat.detailed and flat.stack:
        if base == w.ready_tail[device]:
            w.late_head[device] -= 1
            return w.ready[w.late_head[device] + 1]
        w.ready_tail[device] -= 1
        return w.ready[w.ready_tail[device]]
    if flat.fifo:
        w.ready_head[device] += 1
        return w.ready[base]
    top = w.ready[base]
    w.ready_tail[device] -= 1
    n = w.ready_tail[device] - base
    rank = w.ready[base + n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and w.ready[base + child + 1] < w.ready[base + child]:
            child += 1
        if w.ready[base + child] >= rank:
            break
        w.ready[base + i] = w.ready[base + child]
        i = child
    w.ready[base + i] = rank
    return flat.by_rank[top]


@inline
def _start_operation(flat: Any, w: Any, totals: Any, device: Any, now: Any) -> None:
    """If the device is idle, run the head of its queue."""
    if w.running[device] != -1 or _nothing_ready(flat, w, device):
        return
    op = _dequeue(flat, w, device)
    w.running[device] = op
    w.op_start[op] = now
    duration = flat.duration[op, device]
    totals.busy[device] += duration
    _push(w.heap, (now + duration) << flat.rank_bits | device)
    if flat.blocks:
        _allocate(w, totals, device, flat.block[op])
    elif not flat.late:
        _allocate_outputs(flat, w, totals, op, device)


@inline
def _allocate_outputs(flat: Any, w: Any, totals: Any, op: Any, device: Any) -> None:
    for k in range(flat.out_start[op], flat.out_start[op + 1]):
        tensor = flat.out_tensor[k]
        if not flat.shared[tensor]:
            _allocate(w, totals, device, flat.held[tensor])
        elif flat.alias_edge[tensor] >= 0:
            buffer = w.buffer[w.edge_instance[flat.alias_edge[tensor]]]
            w.buffer[tensor] = buffer
            w.sharers[buffer] += 1
        else:
            w.buffer[tensor] = tensor
            w.sharers[tensor] = 1
            _allocate(w, totals, device, flat.held[tensor])


@inline
def _receive(w: Any, op: Any) -> None:
    """An input of ``op`` is on its device: note the operation when it was the last."""
    state = w.state[op] - (1 << _DEVICE_BITS)
    w.state[op] = state
    if state < (1 << _DEVICE_BITS):
        count = w.fresh[-1]
        w.fresh[count] = op
        w.fresh[-1] = count + 1


@inline
def _join(flat: Any, w: Any, totals: Any, device: Any, now: Any, requests: Any, late: Any) -> Any:
    """Put the operations that became ready into their queues, in topological order.

    Returns the number of requests there are now.
    """
    count = w.fresh[-1]
    w.fresh[-1] = 0
    for i in range(1, count):
        op = w.fresh[i]
        j = i
        while j > 0 and w.fresh[j - 1] > op:
            w.fresh[j] = w.fresh[j - 1]
            j -= 1
        w.fresh[j] = op
    for i in range(count):
        op = w.fresh[i]
        at = w.state[op] & _DEVICE_MASK if flat.broadcast else device
        _enqueue(flat, w, op, at, late)
        if flat.booked:
            requests = _book(flat, w, totals, op, at, now, requests)
    return requests


@inline
def _book(flat: Any, w: Any, totals: Any, op: Any, device: Any, now: Any, requests: Any) -> Any:
    """Book channels for all that a ready operation will send: its end is known, since the queue is.

    Returns the number of requests there are now.
    """
    end = max(now, w.device_free[device]) + flat.duration[op, device]
    w.device_free[device] = end
    for k in range(flat.out_start[op], flat.out_start[op + 1]):
        tensor = flat.out_tensor[k]
        for edge in range(flat.use_start[tensor + 1] - 1, flat.use_start[tensor] - 1, -1):
            at = w.state[flat.consumer[edge]] & _DEVICE_MASK
            if at != device:
                w.chain[edge] = w.last[at]
                w.last[at] = edge
        for target in range(len(w.last)):
            edge = w.last[target]
            if edge >= 0:
                w.last[target] = -1
                _request(flat, w, totals, tensor, device, target, edge, requests)
                _book_transfer(flat, w, totals, requests, end)
                requests += 1
    return requests


@inline
def _book_transfer(flat: Any, w: Any, totals: Any, number: Any, end: Any) -> None:
    """The sender's channel is booked first, then the receiver's; neither waits for the other."""
    source, target = w.source[number], w.target[number]
    size = flat.size[w.tensor[number]]
    duration = _transfer_time(flat, source, target, size)
    w.requested[number] = end
    w.started[number] = max(end, w.channel_free[source])
    w.channel_free[source] = w.started[number] + duration
    w.ended[number] = max(w.started[number], w.channel_free[target]) + duration
    w.channel_free[target] = w.ended[number]
    totals.moved[source] += size
    totals.moved[target] += size
    _push(w.heap, w.ended[number] << flat.rank_bits | (len(w.running) + number))


@inline
def _publish(flat: Any, w: Any, totals: Any, tensor: Any, device: Any, requests: Any) -> Any:
    """A tensor was produced: serve local readers, chain remote ones by destination.

    Returns the number of requests there are now; the new ones come in order of destination.
    """
    uses = 0
    remote = 0
    for edge in range(flat.use_start[tensor + 1] - 1, flat.use_start[tensor] - 1, -1):
        op = flat.consumer[edge]
        at = w.state[op] & _DEVICE_MASK
        if at == device:
            w.edge_instance[edge] = tensor
            uses += 1
            _receive(w, op)
        elif not flat.booked:
            if flat.broadcast:
                at = device
            w.chain[edge] = w.last[at]
            w.last[at] = edge
            remote += 1
    if remote == 0:
        w.uses[tensor] = uses
        return requests
    for at in range(len(w.last)):
        edge = w.last[at]
        if edge < 0:
            continue
        w.last[at] = -1
        uses += 1
        _request(flat, w, totals, tensor, device, at, edge, requests)
        requests += 1
    w.uses[tensor] = uses
    return requests


@inline
def _request(
    flat: Any, w: Any, totals: Any, tensor: Any, source: Any, target: Any, head: Any, number: Any
) -> None:
    """Ask for a copy of a tensor on ``target``; ``head`` is its first edge there."""
    instance = len(flat.size) + number
    w.tensor[number] = tensor
    w.source[number] = source
    w.target[number] = target
    w.head[number] = head
    if flat.blocks:
        return
    if flat.shared[tensor]:
        w.buffer[instance] = instance
        w.sharers[instance] = 1
    _allocate(w, totals, target, flat.held[tensor])
    readers = 0
    edge = head
    while edge >= 0:
        w.edge_instance[edge] = instance
        readers += 1
        edge = w.chain[edge]
    w.uses[instance] = readers


@inline
def _can_start(flat: Any, w: Any, line: Any) -> Any:
    if w.occupied[flat.first[line]]:
        return False
    return flat.second[line] < 0 or not w.occupied[flat.second[line]]


@inline
def _hold(flat: Any, w: Any, channel: Any) -> None:
    w.occupied[channel] = True
    w.busy[0] |= flat.channel_mask[channel]


@inline
def _let_go(flat: Any, w: Any, channel: Any) -> None:
    w.occupied[channel] = False
    w.busy[0] &= ~flat.channel_mask[channel]


@inline
def _transfer_time(flat: Any, source: Any, target: Any, size: Any) -> Any:
    seconds = flat.latency[source, target] + size / flat.bandwidth[source, target]
    return max(flat.shortest, np.int64(np.rint(1e9 * seconds)))


@inline
def _start_transfer(flat: Any, w: Any, totals: Any, number: Any, line: Any, now: Any) -> None:
    source, target = w.source[number], w.target[number]
    size = flat.size[w.tensor[number]]
    _hold(flat, w, flat.first[line])
    totals.moved[flat.first[line]] += size
    if flat.second[line] >= 0:
        _hold(flat, w, flat.second[line])
        totals.moved[flat.second[line]] += size
    w.started[number] = now
    w.ended[number] = now + _transfer_time(flat, source, target, size)
    _push(w.heap, w.ended[number] << flat.rank_bits | (len(w.running) + number))


@inline
def _submit(flat: Any, w: Any, totals: Any, number: Any, now: Any) -> None:
    """Start a new request, or let it wait behind those of its queue."""
    line = flat.queue[w.source[number], w.target[number]]
    w.requested[number] = now
    w.following[number] = -1
    if w.queue_head[line] >= 0:
        w.following[w.queue_tail[line]] = number
        w.queue_tail[line] = number
    elif _can_start(flat, w, line):
        _start_transfer(flat, w, totals, number, line, now)
    else:
        w.queue_head[line] = number
        w.queue_tail[line] = number
        _mark(flat, w, line)


@inline
def _mark(flat: Any, w: Any, line: Any) -> None:
    """Note for its channels whether a queue is empty."""
    first, second = flat.first[line], flat.second[line]
    bit = flat.other_mask[line, 0]
    if w.queue_head[line] >= 0:
        w.waiting[first] |= bit
    else:
        w.waiting[first] &= ~bit
    if second >= 0:
        bit = flat.other_mask[line, 1]
        if w.queue_head[line] >= 0:
            w.waiting[second] |= bit
        else:
            w.waiting[second] &= ~bit


@inline
def _first_waiting(flat: Any, w: Any, channel: Any) -> Any:
    """The queue on this channel whose head has the lowest request number and can start, or -1."""
    best = -1
    lowest = len(w.head)
    if not w.occupied[channel]:
        candidates = w.waiting[channel] & ~w.busy[0]
        while candidates != 0:
            line = flat.line_at[channel, trailing_zeros(candidates)]
            candidates &= candidates - np.uint64(1)
            number = w.queue_head[line]
            if number < lowest:
                lowest = number
                best = line
    return best


@inline
def _serve_channels(flat: Any, w: Any, totals: Any, line: Any, now: Any) -> None:
    """Start what waited for the channels of ``line``, just freed, by request number."""
    while True:
        best = _first_waiting(flat, w, flat.first[line])
        if flat.second[line] >= 0:
            other = _first_waiting(flat, w, flat.second[line])
            if best < 0 or (other >= 0 and w.queue_head[other] < w.queue_head[best]):
                best = other
        if best < 0:
            return
        number = w.queue_head[best]
        w.queue_head[best] = w.following[number]
        if w.queue_head[best] < 0:
            _mark(flat, w, best)
        _start_transfer(flat, w, totals, number, best, now)


@inline
def _end_operation(flat: Any, w: Any, totals: Any, device: Any, now: Any, requests: Any) -> Any:
    """Handle the end of what runs on a device; returns the number of requests there are now."""
    op = w.running[device]
    w.running[device] = -1
    if flat.resting and op >= 0 and flat.rest[op, device] > 0:
        w.running[device] = -2
        _push(w.heap, (now + flat.rest[op, device]) << flat.rank_bits | device)
    before = requests
    if not flat.pausing or op >= 0:
        requests = _finish(flat, w, totals, op, device, now, requests)
    if flat.detailed:
        _pause(flat, w, device, now, before, requests)
    _start_operation(flat, w, totals, device, now)
    if not flat.booked:
        for number in range(before, requests):
            _submit(flat, w, totals, number, now)
    return requests


@inline
def _pause(flat: Any, w: Any, device: Any, now: Any, first: Any, end: Any) -> None:
    """Keep a device from computing for what it owes and for what it sends: requests first...end."""
    pause = w.owed[device]
    w.owed[device] = 0
    for number in range(first, end):
        pause += _occupancy(flat, 0, device, w.target[number], flat.size[w.tensor[number]])
    if pause > 0:
        w.running[device] = -2
        _push(w.heap, (now + pause) << flat.rank_bits | device)


@inline
def _occupancy(flat: Any, side: Any, source: Any, target: Any, size: Any) -> Any:
    """Nanoseconds for which a transfer keeps its sender (side 0) or receiver (1) from computing."""
    seconds = flat.occupancy[side, source, target] + size * flat.occupancy[2, source, target]
    return np.int64(np.rint(1e9 * seconds))


@inline
def _finish(flat: Any, w: Any, totals: Any, op: Any, device: Any, now: Any, requests: Any) -> Any:
    """Free what an operation read, publish what it produced; the number of requests is returned."""
    for k in range(flat.in_start[op], flat.in_start[op + 1]):
        edge = flat.in_edge[k]
        if flat.blocks:
            _leave(flat, w, flat.edge_source[edge])
        else:
            _release(flat, w, w.edge_instance[edge], device)
    if flat.blocks:
        w.used[device] -= flat.unread[op]
    if flat.late:
        _allocate_outputs(flat, w, totals, op, device)
    for k in range(flat.out_start[op], flat.out_start[op + 1]):
        tensor = flat.out_tensor[k]
        requests = _publish(flat, w, totals, tensor, device, requests)
        if not flat.blocks and w.uses[tensor] == 0:
            _free(flat, w, tensor, device)
    return _join(flat, w, totals, device, now, requests, False)


@inline
def _leave(flat: Any, w: Any, op: Any) -> None:
    """A reader of the outputs of ``op`` has ended: free them after the last one."""
    w.left[op] -= 1
    if w.left[op] == 0:
        w.used[w.state[op] & _DEVICE_MASK] -= flat.block[op]


@inline
def _end_transfer(flat: Any, w: Any, totals: Any, number: Any, now: Any, requests: Any) -> Any:
    """Handle an arrival, or the end of what trails it; returns the number of requests."""
    source, target = w.source[number], w.target[number]
    line = flat.queue[source, target]
    edge = w.head[number]
    if not flat.booked and not (flat.trailing and edge >= 0):
        _let_go(flat, w, flat.first[line])
        if flat.second[line] >= 0:
            _let_go(flat, w, flat.second[line])
    if flat.trailing and edge >= 0:
        w.head[number] = -1
        after = now + flat.trail[source, target]
        _push(w.heap, after << flat.rank_bits | (len(w.running) + number))
    if not flat.blocks and not (flat.trailing and edge < 0):
        _release(flat, w, w.tensor[number], source)
    while edge >= 0:
        _receive(w, flat.consumer[edge])
        edge = w.chain[edge]
    requests = _join(flat, w, totals, target, now, requests, True)
    if flat.detailed and w.running[target] != -1:
        size = flat.size[w.tensor[number]]
        w.owed[target] += _occupancy(flat, 1, source, target, size)
    if flat.broadcast:
        for device in range(len(w.running)):
            _start_operation(flat, w, totals, device, now)
    else:
        _start_operation(flat, w, totals, target, now)
    if not flat.booked:
        _serve_channels(flat, w, totals, line, now)
    return requests


@inline
def _reset(flat: Any, w: Any, totals: Any, devices: Any) -> Any:
    """Lay out the ready queues, make variables resident, and let the sources join.

    Returns the number of requests there are now.
    """
    n_devices = len(w.running)
    for device in range(n_devices):
        w.ready_tail[device] = 0
        w.used[device] = 0
        w.running[device] = -1
        w.last[device] = -1
        w.load[device] = 0
        w.owed[device] = 0
        totals.busy[device] = 0
    for op in range(len(devices)):
        at = devices[op]
        w.state[op] = flat.n_inputs[op] << _DEVICE_BITS | at
        w.ready_tail[at] += 1
        w.used[at] += flat.persistent[op]
        if flat.timed:
            w.load[at] += flat.duration[op, at]
        if flat.blocks:
            w.left[op] = flat.n_reads[op]
    start = 0
    for device in range(n_devices):
        w.ready_head[device] = start
        start += w.ready_tail[device]
        w.ready_tail[device] = w.ready_head[device]
        w.late_head[device] = start - 1
        w.late_tail[device] = start - 1
    for line in range(len(w.queue_head)):
        w.queue_head[line] = -1
    w.busy[0] = 0
    for channel in range(len(w.occupied)):
        w.occupied[channel] = False
        w.waiting[channel] = 0
        totals.moved[channel] = 0
    w.heap[-1] = 0
    w.fresh[-1] = 0
    for device in range(n_devices):
        totals.peak[device] = w.used[device]
        w.device_free[device] = 0
        w.channel_free[device] = 0
    requests = 0
    for op in range(len(devices)):
        if flat.n_inputs[op] == 0:
            _enqueue(flat, w, op, devices[op], True)
            if flat.booked:
                requests = _book(flat, w, totals, op, devices[op], 0, requests)
    return requests


@jit
def _simulate(flat: Any, w: Any, totals: Any, devices: Any, deadline: Any) -> Any:
    """Simulate one placement: (nanoseconds, number of requests).

    With a deadline (``timed``), a step that takes longer is broken off when a device cannot compute
    the rest of its operations in time; its nanoseconds are those it takes at least, negated.
    Longest paths to the end would hardly tell earlier (docs/baselines.md).
    """
    requests = _reset(flat, w, totals, devices)
    n_devices = len(w.running)
    for device in range(n_devices):
        _start_operation(flat, w, totals, device, 0)
    now = 0
    mask = (1 << flat.rank_bits) - 1
    while w.heap[-1] > 0:
        key = _pop(w.heap)
        now = key >> flat.rank_bits
        index = key & mask
        if index < n_devices:
            if flat.timed:
                least = now + w.load[index] - totals.busy[index]
                if least > deadline:
                    return -least, requests
            requests = _end_operation(flat, w, totals, index, now, requests)
        else:
            requests = _end_transfer(flat, w, totals, index - n_devices, now, requests)
    if flat.timed and now > deadline:
        return -now, requests
    return now, requests


@jit
def _simulate_many(
    flat: Any, w: Any, totals: Any, devices: Any, deadlines: Any, ends: Any, peaks: Any
) -> None:
    for i in range(len(devices)):
        ends[i], _ = _simulate(flat, w, totals, devices[i], deadlines[i])
        for device in range(peaks.shape[1]):
            peaks[i, device] = totals.peak[device]


@jit
def _tails(
    out_start: Any, out_tensor: Any, use_start: Any, consumer: Any, duration: Any, tail: Any
) -> None:
    for op in range(len(duration) - 1, -1, -1):
        for k in range(out_start[op], out_start[op + 1]):
            tensor = out_tensor[k]
            for edge in range(use_start[tensor], use_start[tensor + 1]):
                reader = consumer[edge]
                tail[op] = max(tail[op], duration[reader] + tail[reader])


def tails(graph: OpGraph, duration: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[ops]: longest path from the end of each operation to the end of the step (ns)."""
    tail = np.zeros(graph.n_ops, np.int64)
    _tails(*graph.outputs, graph.consumer_offsets, graph.consumers, duration, tail)
    return tail


def _deadlines(seconds: Floats) -> NDArray[np.int64]:
    """int64[batch]: the last nanosecond not after float64[batch] seconds, as step times count."""
    last = np.floor(np.minimum(np.asarray(seconds, np.float64) * 1e9, 2.0**62)) + 1
    for _ in range(2):
        last -= last / 1e9 > seconds
    return last.astype(np.int64)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: starting them takes longer than a small batch of small steps."""
    return ThreadPoolExecutor(workers)


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


class Simulator:
    """Judge of placements of one problem (a :class:`suite.search.placer.Judge`)."""

    def __init__(
        self, problem: Problem, policy: str | None = None, semantics: Semantics = PLACEBENCH
    ) -> None:
        """Prepare the arrays. ``policy`` is ``fifo``, ``priority`` or ``stack``, by default the
        machine's own; InputError otherwise.
        """
        policy = policy or own_policy(problem.machine, semantics)
        check_policy(policy, semantics)
        if problem.machine.n_devices > _DEVICE_MASK:
            raise InputError(f"{problem.machine.n_devices} devices; at most {_DEVICE_MASK}")
        self.problem = problem
        self.semantics = semantics
        self.layout = layout(problem, policy, semantics)
        self._timed = self.layout._replace(timed=ON)
        self._spare: queue.SimpleQueue[tuple[Work, Totals]] = queue.SimpleQueue()

    def _scratch(self) -> tuple[Work, Totals]:
        try:
            return self._spare.get_nowait()
        except queue.Empty:
            n, channels = self.problem.machine.n_devices, len(self.layout.channel_mask)
            totals = Totals(*(np.empty(k, np.int64) for k in (n, n, channels)))
            return workspace(self.layout), totals

    def run(self, devices: Ints) -> StepResult:
        """Simulate one placement, int[ops]."""
        return self.record(devices)[0]

    def record(self, devices: Ints) -> tuple[StepResult, Work, int]:
        """Simulate one placement: (result, scratch with all times, number of transfers)."""
        w, totals = self._scratch()
        rows = np.ascontiguousarray(devices, np.int32)
        end, requests = _simulate(self.layout, w, totals, rows, 0)
        return self._result(int(end), totals), w, int(requests)

    def _result(self, end: int, totals: Totals) -> StepResult:
        oom = self.semantics.full(totals.peak, self.problem.machine.memory)
        return StepResult(end, totals.busy, totals.peak, totals.moved, oom)

    def run_until(self, devices: Ints, deadline: int) -> StepResult | TooLong:
        """Simulate one placement, unless its step takes longer than ``deadline`` nanoseconds."""
        w, totals = self._scratch()
        rows = np.ascontiguousarray(devices, np.int32)
        end, _ = _simulate(self._timed, w, totals, rows, deadline)
        return TooLong(deadline, int(-end)) if end < 0 else self._result(int(end), totals)

    def __call__(self, devices: Ints) -> Scores:
        """Simulate a batch, int[batch, ops], on all cores."""
        return self.batch(devices)

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Simulate a batch, each up to float64[batch] seconds, on all cores."""
        return self.batch(devices, seconds=seconds)

    def batch(
        self, devices: Ints, threads: int | None = None, seconds: Floats | None = None
    ) -> Scores:
        """Simulate a batch, int[batch, ops], on ``threads`` cores (default: this
        process's share of them).

        With ``seconds``, float64[batch], steps that certainly take longer are broken off.
        """
        rows = np.ascontiguousarray(devices, np.int32)
        if seconds is None:
            flat, deadlines = self.layout, np.zeros(len(rows), np.int64)
        else:
            flat, deadlines = self._timed, _deadlines(seconds)
        ends = np.zeros(len(rows), np.int64)
        peaks = np.zeros((len(rows), self.problem.machine.n_devices), np.int64)
        workers = threads or my_share().threads
        size = max(1, -(-len(rows) // (4 * workers)))

        def chunk(start: int) -> None:
            part = slice(start, start + size)
            w, totals = self._scratch()
            _simulate_many(flat, w, totals, rows[part], deadlines[part], ends[part], peaks[part])
            self._spare.put((w, totals))

        starts = range(0, len(rows), size)
        if workers == 1 or len(rows) == 1:
            for start in starts:
                chunk(start)
        else:
            list(_pool(workers).map(chunk, starts))
        late = ends < 0
        peaks[late] = -1
        oom: Bools = np.any(self.semantics.full(peaks, self.problem.machine.memory), axis=1)
        return Scores(np.where(late, np.inf, ends / 1e9), oom, peaks)
