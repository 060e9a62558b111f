"""Memory as a list scheduler sees it while it goes along (Baechi, Jeon et al. 2020), compiled.

A unit's variables are taken when its device is decided. A tensor takes its bytes when its producer
is placed, a copy when the first reader on another device is, and gives them back when all its
readers are placed, which in the order of start times is nearly when they have run. Tensors that
share a buffer take its bytes once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from suite.core.problem import Problem


class Ledger(NamedTuple):
    """What is taken, and by whom. A buffer's number is tensor x devices + device."""

    memory: Any
    """int64[devices]: capacity."""
    used: Any
    """int64[devices]."""
    resident: Any
    """int64[units]: variables."""
    size: Any
    """int64[tensors]."""
    alias: Any
    """int64[tensors]: the tensor whose buffer it shares where it is made, or -1."""
    unread: Any
    """int64[tensors]: readers that are not placed yet."""
    buffer: Any
    """int64[tensors, devices]: the buffer that holds the tensor there, or -1."""
    wanted: Any
    """int64[tensors x devices]: readers that each buffer waits for."""


def open_ledger(problem: Problem, unit: NDArray[np.int64], homes: NDArray[np.int64]) -> Ledger:
    """Return the ledger with the variables of units that have a home (int64[units], or -1)."""
    graph, count = problem.graph, problem.machine.n_devices
    resident = np.zeros(len(homes), np.int64)
    np.add.at(resident, unit, graph.persistent_bytes)
    used = np.zeros(count, np.int64)
    np.add.at(used, homes[homes >= 0], resident[homes >= 0])
    return Ledger(
        np.array(problem.machine.memory, np.int64),
        used,
        resident,
        np.array(graph.tensor_bytes, np.int64),
        np.array(graph.alias_of, np.int64),
        np.diff(graph.consumer_offsets).astype(np.int64),
        np.full((graph.n_tensors, count), -1, np.int64),
        np.zeros(graph.n_tensors * count, np.int64),
    )


@numba.njit(cache=True)
def has_room(ledger, unit, inputs, outputs, device):  # type: ignore[no-untyped-def]
    """Whether an operation that decides for its unit fits, with its variables and copies."""
    needed = ledger.used[device] + ledger.resident[unit]
    for tensor in inputs:
        if ledger.buffer[tensor, device] < 0:
            needed += ledger.size[tensor]
    for tensor in outputs:
        if ledger.alias[tensor] < 0:
            needed += ledger.size[tensor]
    return needed <= ledger.memory[device]


@numba.njit(cache=True)
def enter(ledger, inputs, outputs, device):  # type: ignore[no-untyped-def]
    """Place an operation: copies come, outputs are made, what nobody waits for is given back."""
    count = len(ledger.used)
    for tensor in inputs:
        if ledger.buffer[tensor, device] < 0:
            _allocate(ledger, tensor, device)
    for tensor in outputs:
        origin = ledger.alias[tensor]
        if origin >= 0:
            shared = ledger.buffer[origin, device]
            ledger.buffer[tensor, device] = shared
            ledger.wanted[shared] += ledger.unread[tensor]
        elif ledger.unread[tensor] > 0:
            _allocate(ledger, tensor, device)
    for tensor in inputs:
        ledger.unread[tensor] -= 1
        for place in range(count):
            held = ledger.buffer[tensor, place]
            if held < 0:
                continue
            ledger.wanted[held] -= 1
            if ledger.wanted[held] == 0:
                ledger.used[held % count] -= ledger.size[held // count]


@numba.njit(cache=True)
def _allocate(ledger, tensor, device):  # type: ignore[no-untyped-def]
    number = tensor * len(ledger.used) + device
    ledger.buffer[tensor, device] = number
    ledger.wanted[number] = ledger.unread[tensor]
    ledger.used[device] += ledger.size[tensor]
