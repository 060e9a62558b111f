"""Ready operations: per device a first-in-first-out slice, a heap of ranks, or a stack."""

from __future__ import annotations

from suite.core.compilation import inline
from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.rules import DETAILED
from suite.simulator.compiled.state import DEVICE_BITS, Work


@inline
def receive(w: Work, op: int) -> None:
    """An input of ``op`` is on its device: note the operation when it was the last."""
    state = w.state[op] - (1 << DEVICE_BITS)
    w.state[op] = state
    # Below one input, only the bits of the device are left.
    if state < (1 << DEVICE_BITS):
        count = w.fresh[-1]
        w.fresh[count] = op
        w.fresh[-1] = count + 1


@inline
def sort_fresh(w: Work) -> int:
    """Put what became ready into topological order; returns how many there are.

    By insertion: one or two operations become ready at a time.
    """
    count: int = w.fresh[-1]
    w.fresh[-1] = 0
    for i in range(1, count):
        op = w.fresh[i]
        j = i
        while j > 0 and w.fresh[j - 1] > op:
            w.fresh[j] = w.fresh[j - 1]
            j -= 1
        w.fresh[j] = op
    return count


@inline
def enqueue(flat: Layout, w: Work, op: int, device: int, remote_ready: bool) -> None:
    """Add a ready operation to its device's queue.

    A stack has a queue beside it for what the device's own work did not make ready: its last
    input came from elsewhere, or it has none (``remote_ready``).
    """
    if DETAILED and flat.stack and remote_ready:
        # The slice holds every operation of the device, so the ends never meet.
        w.ready[w.remote_tail[device]] = op
        w.remote_tail[device] -= 1
        return
    tail = w.ready_tail[device]
    w.ready_tail[device] += 1
    if flat.fifo or (DETAILED and flat.stack):
        w.ready[tail] = op
        return
    # Ranks instead of operations are in the heap: they compare without a look into another array.
    base = w.ready_head[device]
    i = tail - base
    rank = flat.graph.rank[op]
    while i > 0:
        parent = (i - 1) >> 1
        if w.ready[base + parent] <= rank:
            break
        w.ready[base + i] = w.ready[base + parent]
        i = parent
    w.ready[base + i] = rank


@inline
def nothing_ready(flat: Layout, w: Work, device: int) -> bool:
    """Whether a device has nothing to run."""
    if DETAILED and w.remote_head[device] != w.remote_tail[device]:
        return False
    nothing: bool = w.ready_head[device] == w.ready_tail[device]
    return nothing


@inline
def dequeue(flat: Layout, w: Work, device: int) -> int:
    """Take the operation that is to run next out of a queue that is not empty."""
    base = w.ready_head[device]
    if DETAILED and flat.stack:
        # What came from elsewhere waits for the stack to be empty.
        if base == w.ready_tail[device]:
            w.remote_head[device] -= 1
            oldest: int = w.ready[w.remote_head[device] + 1]
            return oldest
        w.ready_tail[device] -= 1
        newest: int = w.ready[w.ready_tail[device]]
        return newest
    if flat.fifo:
        w.ready_head[device] += 1
        first: int = w.ready[base]
        return first
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
    urgent: int = flat.graph.by_rank[top]
    return urgent
