"""Channels booked ahead, as in Baechi's simulator: all is settled when an operation is ready."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.channels import transfer_time
from suite.simulator.compiled.heap import push
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.state import DEVICE_MASK, Totals, Work
from suite.simulator.compiled.transfers import request


@inline
def book(
    flat: Layout, w: Work, totals: Totals, op: int, device: int, now: int, requests: int
) -> int:
    """Book channels for all that a ready operation will send: its end is known, since the queue is.

    Returns the number of requests there are now.
    """
    graph = flat.graph
    end = max(now, w.device_free[device]) + graph.duration[op, graph.kind[device]]
    w.device_free[device] = end
    for k in range(graph.out_start[op], graph.out_start[op + 1]):
        tensor = graph.out_tensor[k]
        # Backwards, since chains grow at their front: readers then come in the graph's order.
        for edge in range(graph.use_start[tensor + 1] - 1, graph.use_start[tensor] - 1, -1):
            at = w.state[graph.consumer[edge]] & DEVICE_MASK
            if at != device:
                w.chain[edge] = w.last[at]
                w.last[at] = edge
        for target in range(len(w.last)):
            edge = w.last[target]
            if edge >= 0:
                w.last[target] = -1
                request(flat, w, totals, tensor, device, target, edge, requests)
                _book_transfer(flat, w, totals, requests, end)
                requests += 1
    return requests


@inline
def _book_transfer(flat: Layout, w: Work, totals: Totals, number: int, end: int) -> None:
    """The sender's channel is booked first, then the receiver's; neither waits for the other."""
    source, target = w.source[number], w.target[number]
    size = flat.graph.size[w.tensor[number]]
    duration = transfer_time(flat.links, source, target, size)
    w.requested[number] = end
    w.started[number] = max(end, w.channel_free[source])
    w.channel_free[source] = w.started[number] + duration
    w.ended[number] = max(w.started[number], w.channel_free[target]) + duration
    w.channel_free[target] = w.ended[number]
    totals.moved[source] += size
    totals.moved[target] += size
    push(flat, w, w.ended[number], len(w.running) + number)
