"""How much later everything in a step could be, and the step would not be longer.

Devices and channels keep the order in which they did things. So what comes next on a device or on a
channel, and what reads a tensor, say how late an operation or a transfer can start; from the last
of them back to the first, all that is known in one pass (as the backward pass of the critical-path
method, Kelley and Walker 1959).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.layout import Layout
from suite.simulator.timeline import Timeline

Times = NDArray[np.int64]
NONE = -1


@dataclass(frozen=True, eq=False)
class Slack:
    """Of one step that was traced. Times are nanoseconds since it began."""

    times: Timeline
    arrived: Times
    """int64[edges]: when what an edge carries is where it is read."""
    channel: Times
    """int64[transfers, 2]: what each held; NONE where that is nothing, or one channel only."""
    free: Times
    """int64[transfers]: when it held them no longer."""
    op_start: Times
    """int64[ops]: the latest start of each operation."""
    transfer_start: Times
    """int64[transfers]: the latest start of each transfer."""

    @classmethod
    def of(cls, simulator: Simulator, times: Timeline) -> Slack:
        """Of a step's times under the rules of ``simulator``, whose tensors go to one device each.

        Where transfers keep devices from computing, that is not seen.
        """
        flat = simulator.layout
        graph, links = flat.graph, flat.links
        line = links.queue[times.source, times.target]
        channel = np.stack([links.first[line], links.second[line]], axis=1).astype(np.int64)
        channel[~times.copied] = NONE
        bytes_moved = graph.size[times.tensor]
        rate = links.bandwidth[times.source, times.target]
        seconds = links.hold[times.source, times.target] + bytes_moved / rate
        hold = np.maximum(1, np.rint(1e9 * seconds)).astype(np.int64)
        order = np.argsort(-np.concatenate([times.start, times.sent]), kind="stable")
        op_start, transfer_start = _latest(
            *(flat, order.astype(np.int64), times.devices.astype(np.int64)),
            *(times.end - times.start, times.tensor.astype(np.int64)),
            *(times.target.astype(np.int64), times.arrived - times.sent, hold, channel),
            *(times.result.nanoseconds, int(channel.max(initial=0)) + 1),
        )
        arrived = _arrivals(simulator, times)
        return cls(times, arrived, channel, times.sent + hold, op_start, transfer_start)


def _arrivals(simulator: Simulator, times: Timeline) -> Times:
    """int64[edges]: when what each carries is on its reader's device."""
    graph, devices = simulator.layout.graph, times.devices
    count = times.problem.machine.n_devices
    tensor = np.repeat(np.arange(len(graph.size)), np.diff(graph.use_start))
    found: Times = times.end[graph.edge_source].copy()
    away = np.flatnonzero(devices[graph.consumer] != devices[graph.edge_source])
    keys = times.tensor.astype(np.int64) * count + times.target
    order = np.argsort(keys)
    asked = tensor[away] * count + devices[graph.consumer[away]]
    found[away] = times.arrived[order][np.searchsorted(keys[order], asked)]
    return found


@kernel
def _latest(
    flat: Layout,
    order: Ints,
    devices: Ints,
    duration: Ints,
    tensor: Ints,
    target: Ints,
    flight: Ints,
    hold: Ints,
    channel: Ints,
    last: int,
    channels: int,
) -> tuple[Times, Times]:
    """The latest starts of operations, and of transfers, in the ``order`` from the last to start.

    Transfers are numbered behind the operations in it.
    """
    graph, ops = flat.graph, len(devices)
    op_start = np.full(ops, last, np.int64)
    transfer_start = np.full(len(tensor), last, np.int64)
    device_next = np.full(int(devices.max()) + 1, last, np.int64)
    channel_next = np.full(channels, last, np.int64)
    # What an operation sends says how late it can end.
    sends = np.full(ops, last, np.int64)
    maker = np.empty(len(graph.size), np.int64)
    for op in range(ops):
        for k in range(graph.out_start[op], graph.out_start[op + 1]):
            maker[graph.out_tensor[k]] = op
    for one in order:
        if one < ops:
            latest = min(device_next[devices[one]], sends[one])
            for k in range(graph.out_start[one], graph.out_start[one + 1]):
                made = graph.out_tensor[k]
                for edge in range(graph.use_start[made], graph.use_start[made + 1]):
                    reader = graph.consumer[edge]
                    if devices[reader] == devices[one]:
                        latest = min(latest, op_start[reader])
            op_start[one] = latest - duration[one]
            device_next[devices[one]] = op_start[one]
        else:
            number = one - ops
            sent = tensor[number]
            latest = last
            for edge in range(graph.use_start[sent], graph.use_start[sent + 1]):
                reader = graph.consumer[edge]
                if devices[reader] == target[number]:
                    latest = min(latest, op_start[reader])
            latest -= flight[number]
            for side in range(2):
                if channel[number, side] >= 0:
                    latest = min(latest, channel_next[channel[number, side]] - hold[number])
            transfer_start[number] = latest
            for side in range(2):
                if channel[number, side] >= 0:
                    channel_next[channel[number, side]] = latest
            sends[maker[sent]] = min(sends[maker[sent]], latest)
    return op_start, transfer_start
