"""Transfers one after the other: a device sends or receives one tensor at a time, compiled.

As Baechi's scheduler books them (Jeon et al. 2020, sequential communication). A tensor goes once
to a device, when the first of its readers is placed there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.work import Work
from suite.core.arrays import Floats, Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem


class TransferQueues(NamedTuple):
    """What has been sent. Times are float64 seconds."""

    made: Floats
    """[tensors]: when the tensor's producer ends."""
    origin: NDArray[np.int64]
    """int64[tensors]: its producer's device."""
    there: Floats
    """[tensors, devices]: when it can be read there; infinite if it has not been sent."""
    free: Floats
    """[devices]: when the device has nothing to send or receive any more."""


def idle_queues(problem: Problem) -> TransferQueues:
    """Return the queues before the step: nothing made, nothing sent."""
    tensors, count = problem.graph.n_tensors, problem.machine.n_devices
    return TransferQueues(
        np.zeros(tensors),
        np.zeros(tensors, np.int64),
        np.full((tensors, count), np.inf),
        np.zeros(count),
    )


@kernel
def arrives(queues: TransferQueues, work: Work, inputs: Ints, device: int) -> float:
    """When the last of these tensors can be on a device, if they were sent now."""
    # The receiver's queue moves on from one tensor to the next; senders' own are looked at only.
    last, channel = 0.0, queues.free[device]
    for tensor in inputs:
        come = queues.there[tensor, device]
        if come == np.inf:
            source = queues.origin[tensor]
            begin = max(queues.made[tensor], channel, queues.free[source])
            come = channel = begin + _seconds(work, tensor, source, device)
        last = max(last, come)
    return last


@kernel
def fetch(queues: TransferQueues, work: Work, inputs: Ints, device: int) -> None:
    """Send those of the tensors that are not on the device."""
    for tensor in inputs:
        if queues.there[tensor, device] == np.inf:
            source = queues.origin[tensor]
            begin = max(queues.made[tensor], queues.free[device], queues.free[source])
            end = begin + _seconds(work, tensor, source, device)
            queues.there[tensor, device] = end
            queues.free[source] = queues.free[device] = end


@kernel
def make(queues: TransferQueues, outputs: Ints, device: int, end: float) -> None:
    """An operation on the device has made these tensors."""
    for tensor in outputs:
        queues.made[tensor] = queues.there[tensor, device] = end
        queues.origin[tensor] = device


@kernel
def _seconds(work: Work, tensor: int, source: int, target: int) -> float:
    latency: float = work.latency[source, target]
    moving: float = work.size[tensor] * work.per_byte[source, target]
    return latency + moving
