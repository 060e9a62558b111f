"""Memory in use: tensors and copies, whose aliases share buffers, or one block per operation."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.flat_graph import FlatGraph
from suite.simulator.compiled.state import DEVICE_MASK, Totals, Work


@inline
def allocate(w: Work, totals: Totals, device: int, size: int) -> None:
    """Take bytes; the peak is read after every allocation."""
    w.used[device] += size
    if w.used[device] > totals.peak[device]:
        totals.peak[device] = w.used[device]


@inline
def allocate_outputs(graph: FlatGraph, w: Work, totals: Totals, op: int, device: int) -> None:
    """Take memory for what an operation produces, unless that lies in a buffer it reads."""
    for k in range(graph.out_start[op], graph.out_start[op + 1]):
        tensor = graph.out_tensor[k]
        # Most tensors share nothing: they need no buffer's number and no count of sharers.
        if not graph.shared[tensor]:
            allocate(w, totals, device, graph.held[tensor])
        elif graph.alias_edge[tensor] >= 0:
            # The alias of a received tensor lies in the copy, not in the original.
            buffer = w.buffer[w.edge_instance[graph.alias_edge[tensor]]]
            w.buffer[tensor] = buffer
            w.sharers[buffer] += 1
        else:
            w.buffer[tensor] = tensor
            w.sharers[tensor] = 1
            allocate(w, totals, device, graph.held[tensor])


@inline
def release(graph: FlatGraph, w: Work, instance: int, device: int) -> None:
    """One use of an instance is over; free its buffer when all instances in it are done."""
    w.uses[instance] -= 1
    if w.uses[instance] == 0:
        free(graph, w, instance, device)


@inline
def free(graph: FlatGraph, w: Work, instance: int, device: int) -> None:
    """An instance is done: free its buffer when it was the last one in it."""
    originals = len(graph.size)
    tensor = instance if instance < originals else w.tensor[instance - originals]
    if not graph.shared[tensor]:
        w.used[device] -= graph.held[tensor]
        return
    buffer = w.buffer[instance]
    w.sharers[buffer] -= 1
    if w.sharers[buffer] == 0:
        # What was allocated is the owner's size: an alias may be smaller or larger.
        owner = buffer if buffer < originals else w.tensor[buffer - originals]
        w.used[device] -= graph.held[owner]


@inline
def leave(graph: FlatGraph, w: Work, op: int) -> None:
    """A reader of the outputs of ``op`` has ended: free its block after the last (``blocks``)."""
    w.left[op] -= 1
    if w.left[op] == 0:
        w.used[w.state[op] & DEVICE_MASK] -= graph.block[op]
