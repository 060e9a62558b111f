"""The state of a step before anything has run."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.core.compilation import inline
from suite.simulator.compiled.booked import book
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.ready import enqueue
from suite.simulator.compiled.rules import BLOCKS, BOOKED, TIMED
from suite.simulator.compiled.state import DEVICE_BITS, IDLE, Totals, Work


@inline
def reset(flat: Layout, w: Work, totals: Totals, devices: Ints) -> int:
    """Lay out the ready queues, make variables resident, and let the sources join.

    Returns the number of requests there are now.
    """
    graph = flat.graph
    n_devices = len(w.used)
    for lane in range(len(w.running)):
        w.running[lane] = IDLE
    for device in range(n_devices):
        w.ready_tail[device] = 0
        w.used[device] = 0
        w.computing[device] = 0
        w.begun[device] = 0
        w.last[device] = -1
        w.load[device] = 0
        w.owed[device] = 0
        totals.busy[device] = 0
    for op in range(len(devices)):
        at = devices[op]
        w.state[op] = graph.n_inputs[op] << DEVICE_BITS | at
        # Counts the operations of each device, which is how long its slice must be.
        w.ready_tail[at] += 1
        w.used[at] += graph.persistent[op]
        if TIMED:
            w.load[at] += graph.duration[op, graph.kind[at]]
        if BLOCKS:
            w.left[op] = graph.n_reads[op]
    start = 0
    for device in range(n_devices):
        w.ready_head[device] = start
        start += w.ready_tail[device]
        w.ready_tail[device] = w.ready_head[device]
        w.remote_head[device] = start - 1
        w.remote_tail[device] = start - 1
    for line in range(len(w.queue_head)):
        w.queue_head[line] = -1
    for word in range(len(w.busy)):
        w.busy[word] = 0
    for place in range(len(w.waiting)):
        w.waiting[place] = 0
    for channel in range(len(w.occupied)):
        w.occupied[channel] = False
        totals.moved[channel] = 0
    w.heap[-1] = 0
    w.fresh[-1] = 0
    for device in range(n_devices):
        totals.peak[device] = w.used[device]
        w.device_free[device] = 0
        w.channel_free[device] = 0
    requests = 0
    for op in range(len(devices)):
        if graph.n_inputs[op] == 0:
            enqueue(flat, w, op, devices[op], True)
            if BOOKED:
                requests = book(flat, w, totals, op, devices[op], 0, requests)
    return requests
