"""Requests: which copies of a tensor are sent where, and whom each of them serves."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.memory import allocate
from suite.simulator.compiled.ready import receive
from suite.simulator.compiled.rules import BLOCKS, BOOKED, BOUNDED, BROADCAST
from suite.simulator.compiled.state import DEVICE_MASK, Totals, Work


@inline
def publish(flat: Layout, w: Work, totals: Totals, tensor: int, device: int, requests: int) -> int:
    """A tensor was produced: serve local readers, chain remote ones by destination.

    Returns the number of requests there are now; the new ones come in order of destination.
    """
    graph = flat.graph
    uses = 0
    remote = 0
    # Backwards, since chains grow at their front: readers then come in the graph's order.
    for edge in range(graph.use_start[tensor + 1] - 1, graph.use_start[tensor] - 1, -1):
        op = graph.consumer[edge]
        at = w.state[op] & DEVICE_MASK
        if at == device:
            if not BOUNDED:
                w.edge_instance[edge] = tensor
                uses += 1
            receive(w, op)
        elif not BOOKED:
            # A broadcast is one request from the device to itself that serves all others.
            if BROADCAST:
                at = device
            w.chain[edge] = w.last[at]
            w.last[at] = edge
            remote += 1
    if remote == 0:
        if not BOUNDED:
            w.uses[tensor] = uses
        return requests
    for at in range(len(w.last)):
        edge = w.last[at]
        if edge < 0:
            continue
        w.last[at] = -1
        # A transfer needs the original until it has arrived.
        uses += 1
        request(flat, w, totals, tensor, device, at, edge, requests)
        requests += 1
    if not BOUNDED:
        w.uses[tensor] = uses
    return requests


@inline
def request(
    flat: Layout,
    w: Work,
    totals: Totals,
    tensor: int,
    source: int,
    target: int,
    first_edge: int,
    number: int,
) -> None:
    """Ask for a copy of a tensor on ``target`` for the readers chained from ``first_edge``."""
    graph = flat.graph
    instance = len(graph.size) + number
    w.tensor[number] = tensor
    w.source[number] = source
    w.target[number] = target
    w.first_edge[number] = first_edge
    # Where operations have blocks, copies are free.
    if BLOCKS:
        return
    allocate(w, totals, target, graph.held[tensor])
    if BOUNDED:
        return
    if graph.shared[tensor]:
        w.buffer[instance] = instance
        w.sharers[instance] = 1
    readers = 0
    edge = first_edge
    while edge >= 0:
        w.edge_instance[edge] = instance
        readers += 1
        edge = w.chain[edge]
    w.uses[instance] = readers
