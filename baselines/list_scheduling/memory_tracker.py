"""Memory as a list scheduler sees it while it goes along (Baechi, Jeon et al. 2020), compiled.

A unit's variables are taken when its device is decided. A tensor takes its bytes when its producer
is placed, a copy when the first reader on another device is, and gives them back when all its
readers are placed, which in the order of start times is nearly when they have run. Tensors that
share a buffer take its bytes once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem


class MemoryTracker(NamedTuple):
    """What is taken, and by whom. A buffer's number is tensor x devices + device."""

    memory: NDArray[np.int64]
    """int64[devices]: capacity."""
    used: NDArray[np.int64]
    """int64[devices]."""
    resident: NDArray[np.int64]
    """int64[units]: variables."""
    size: NDArray[np.int64]
    """int64[tensors]."""
    alias: NDArray[np.int64]
    """int64[tensors]: the tensor whose buffer it shares where it is made, or -1."""
    unread: NDArray[np.int64]
    """int64[tensors]: readers that are not placed yet."""
    buffer: NDArray[np.int64]
    """int64[tensors, devices]: the buffer that holds the tensor there, or -1."""
    wanted: NDArray[np.int64]
    """int64[tensors x devices]: readers that each buffer waits for."""


def track_memory(
    problem: Problem, unit: NDArray[np.int64], homes: NDArray[np.int64]
) -> MemoryTracker:
    """Track the variables of units that have a home (int64[units], or -1)."""
    graph, count = problem.graph, problem.machine.n_devices
    resident = np.zeros(len(homes), np.int64)
    np.add.at(resident, unit, graph.persistent_bytes)
    used = np.zeros(count, np.int64)
    np.add.at(used, homes[homes >= 0], resident[homes >= 0])
    return MemoryTracker(
        np.array(problem.machine.memory, np.int64),
        used,
        resident,
        np.array(graph.tensor_bytes, np.int64),
        np.array(graph.alias_of, np.int64),
        np.diff(graph.consumer_offsets).astype(np.int64),
        np.full((graph.n_tensors, count), -1, np.int64),
        np.zeros(graph.n_tensors * count, np.int64),
    )


@kernel
def has_room(tracker: MemoryTracker, unit: int, inputs: Ints, outputs: Ints, device: int) -> bool:
    """Whether an operation that decides for its unit fits, with its variables and copies."""
    needed = tracker.used[device] + tracker.resident[unit]
    for tensor in inputs:
        if tracker.buffer[tensor, device] < 0:
            needed += tracker.size[tensor]
    for tensor in outputs:
        if tracker.alias[tensor] < 0:
            needed += tracker.size[tensor]
    fits: bool = needed <= tracker.memory[device]
    return fits


@kernel
def enter(tracker: MemoryTracker, inputs: Ints, outputs: Ints, device: int) -> None:
    """Place an operation: copies come, outputs are made, what nobody waits for is given back."""
    count = len(tracker.used)
    for tensor in inputs:
        if tracker.buffer[tensor, device] < 0:
            _allocate(tracker, tensor, device)
    for tensor in outputs:
        origin = tracker.alias[tensor]
        if origin >= 0:
            # It lies in the buffer of what it hands on, which must now wait for its readers too.
            shared = tracker.buffer[origin, device]
            tracker.buffer[tensor, device] = shared
            tracker.wanted[shared] += tracker.unread[tensor]
        # Nobody would ever give back what nobody reads.
        elif tracker.unread[tensor] > 0:
            _allocate(tracker, tensor, device)
    # A reader counts wherever the tensor is: the original waits until all copies have been made.
    for tensor in inputs:
        tracker.unread[tensor] -= 1
        for place in range(count):
            held = tracker.buffer[tensor, place]
            if held < 0:
                continue
            tracker.wanted[held] -= 1
            if tracker.wanted[held] == 0:
                tracker.used[held % count] -= tracker.size[held // count]


@kernel
def _allocate(tracker: MemoryTracker, tensor: int, device: int) -> None:
    number = tensor * len(tracker.used) + device
    tracker.buffer[tensor, device] = number
    tracker.wanted[number] = tracker.unread[tensor]
    tracker.used[device] += tracker.size[tensor]
