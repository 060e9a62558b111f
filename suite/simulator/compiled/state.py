"""What changes during a simulated step: scratch memory that is used again for the next one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.simulator.compiled.layout import Layout
from suite.simulator.compiled.rules import Rules

DEVICE_BITS = 8
DEVICE_MASK = (1 << DEVICE_BITS) - 1
"""An operation's missing inputs and its device share one word (``Work.state``): whoever delivers
an input needs both, and reads memory once."""
IDLE = -1
PAUSED = -2
"""What ``Work.running`` says of a device that runs no operation."""


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
    """int32[requests]: what is sent."""
    source: NDArray[np.int32]
    """int32[requests]: from where."""
    target: NDArray[np.int32]
    """int32[requests]: to where."""
    first_edge: NDArray[np.int32]
    """int32[requests]: the first edge of the chain that it serves; -1 once it has arrived and only
    its latency holds the channel (``trailing``)."""
    following: NDArray[np.int32]
    """int32[requests]: next request in the queue, or -1."""
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
    """int64[devices]: where the ready operations begin and end in the slice."""
    remote_head: NDArray[np.int64]
    remote_tail: NDArray[np.int64]
    """int64[devices]: the end of a slice, filled downwards, queues what transfers made ready
    (``detailed``)."""
    running: NDArray[np.int32]
    """int32[lanes]: the operation that runs, IDLE or PAUSED; one lane a device or more
    (``at_once``)."""
    computing: NDArray[np.int32]
    """int32[devices]: how many of its lanes run operations (``at_once``)."""
    since: NDArray[np.int64]
    """int64[devices]: since when at least one does, in nanoseconds (``at_once``)."""
    begun: NDArray[np.int64]
    """int64[devices]: nanoseconds of the operations that have begun (``at_once`` and ``timed``)."""
    owed: NDArray[np.int64]
    """int64[devices]: nanoseconds for which arrivals will keep it from computing (``detailed``)."""
    queue_head: NDArray[np.int32]
    queue_tail: NDArray[np.int32]
    """int32[queues]: first and last waiting request; the first is -1 where none waits."""
    occupied: NDArray[np.bool_]
    """bool[channels]."""
    waiting: NDArray[np.uint64]
    """uint64[channels x words]: the queues of the channel that are not empty, by their bit."""
    busy: NDArray[np.uint64]
    """uint64[words]: the occupied channels that share queues with others, by their bit. There is
    one word unless the machine is ``wide``."""
    heap: NDArray[np.int64]
    """int64[lanes + channels + 1], with edges for channels if transfers are booked, twice the edges
    if they are ``at_once``: keys of pending events; the last entry is their number."""
    heap_number: NDArray[np.int32]
    """int32[as long]: where keys are times alone (``long``), their devices and
    requests."""
    fresh: NDArray[np.int32]
    """int32[ops + 1]: operations made ready by this event; the last entry is their number."""
    last: NDArray[np.int32]
    """int32[devices]: the edge at which the chain of the tensor at hand begins, or -1."""
    used: NDArray[np.int64]
    """int64[devices]: bytes allocated."""
    left: NDArray[np.int32]
    """int32[ops]: readers of its outputs that have not ended (``blocks``)."""
    device_free: NDArray[np.int64]
    channel_free: NDArray[np.int64]
    """int64[devices]: nanoseconds up to which they are booked (``booked``)."""
    load: NDArray[np.int64]
    """int64[devices]: nanoseconds that each computes in the whole step (``timed``)."""


class Totals(NamedTuple):
    """What one simulation adds up."""

    busy: NDArray[np.int64]
    """int64[devices]: nanoseconds spent computing."""
    peak: NDArray[np.int64]
    """int64[devices]: bytes."""
    moved: NDArray[np.int64]
    """int64[channels]: bytes."""


def workspace(flat: Layout, rules: Rules) -> tuple[Work, Totals]:
    """Allocate scratch memory for a problem that is simulated by these rules."""
    ops, devices = len(flat.graph.duration), len(flat.graph.kind)
    channels, edges = len(flat.links.channel_mask), len(flat.graph.consumer)
    instances = len(flat.graph.size) + edges
    lanes = len(flat.graph.lane_device)
    # At most one event is pending per lane and per channel, unless transfers are booked ahead or
    # are under way when their channels are free again.
    ahead = 2 * edges if rules.at_once else edges if rules.booked else channels
    events = lanes + ahead
    short = {"state": ops, "uses": instances, "buffer": instances, "sharers": instances}
    short |= {"edge_instance": edges, "chain": edges, "tensor": edges, "source": edges}
    short |= {"target": edges, "first_edge": edges, "following": edges}
    short |= {"ready": ops, "fresh": ops + 1, "left": ops}
    short |= {"running": lanes, "computing": devices, "last": devices, "heap_number": events + 1}
    short |= {"queue_head": len(flat.links.first), "queue_tail": len(flat.links.first)}
    long = {"requested": edges, "started": edges, "ended": edges, "op_start": ops}
    long |= {"ready_head": devices, "ready_tail": devices, "used": devices}
    long |= {"remote_head": devices, "remote_tail": devices, "owed": devices}
    long |= {"device_free": devices, "channel_free": devices, "load": devices}
    long |= {"since": devices, "begun": devices}
    long |= {"heap": events + 1}
    arrays: dict[str, Any] = {name: np.empty(n, np.int32) for name, n in short.items()}
    arrays |= {name: np.empty(n, np.int64) for name, n in long.items()}
    work = Work(
        occupied=np.empty(channels, np.bool_),
        waiting=np.empty(len(flat.links.line_at), np.uint64),
        busy=np.empty(len(flat.links.line_at) // max(1, channels), np.uint64),
        **arrays,
    )
    return work, Totals(*(np.empty(n, np.int64) for n in (devices, devices, channels)))
