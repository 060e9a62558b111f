"""Earliest-task-first list scheduling over operations, compiled."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from suite.problem import Problem


def schedule(
    problem: Problem, homes: NDArray[np.int64], needed: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Assign classes to devices: int64[n_classes], -1 where nothing had room.

    ``homes``: int64[n_classes], device of a class that has no choice, else -1, which means any
    GPU that may run it; ``needed``: int64[n_classes] bytes.
    """
    graph, machine = problem.graph, problem.machine
    count = machine.n_devices
    latency, per_byte = np.zeros((2, count, count))
    for (source, target), link in machine.link_of.items():
        latency[source, target], per_byte[source, target] = link.latency, 1 / link.bandwidth
    gpus = np.zeros(count, np.bool_)
    gpus[list(machine.accelerators)] = True
    devices = homes.copy()
    _earliest_task_first(
        problem.seconds,
        problem.allowed & gpus,
        np.asarray(graph.colocation, np.int64),
        devices,
        needed,
        np.asarray(machine.memory, np.int64),
        np.asarray(graph.tensor_bytes, np.float64),
        np.diff(graph.inputs[0]),
        graph.outputs,
        (np.asarray(graph.consumer_offsets, np.int64), np.asarray(graph.consumers, np.int64)),
        (latency, per_byte),
    )
    return devices


@numba.njit(cache=True)
def _earliest_task_first(  # type: ignore[no-untyped-def]
    seconds, allowed, colocation, devices, needed, memory, size, missing, outputs, readers, links
):
    """Fill in ``devices``. Ties go to the operation that comes first, then to the first device."""
    latency, per_byte = links
    n_ops, count = seconds.shape
    room = memory.copy()
    for index in range(len(devices)):
        if devices[index] >= 0:
            room[devices[index]] -= needed[index]
    # When every input of a ready operation is on each device.
    arrival = np.zeros((n_ops, count))
    free = np.zeros(count)
    ready = np.empty(n_ops, np.int64)
    n_ready = 0
    for op in range(n_ops):
        if missing[op] == 0:
            ready[n_ready] = op
            n_ready += 1
    while n_ready:
        best, best_slot, best_device = np.inf, -1, -1
        for slot in range(n_ready):
            op = ready[slot]
            index = colocation[op]
            for device in range(count):
                if devices[index] >= 0:
                    if devices[index] != device:
                        continue
                elif not allowed[index, device] or room[device] < needed[index]:
                    continue
                start = max(free[device], arrival[op, device])
                earlier = start == best and op < ready[best_slot]
                if start < best or earlier:
                    best, best_slot, best_device = start, slot, device
        if best_slot < 0:
            return
        op = ready[best_slot]
        n_ready -= 1
        ready[best_slot] = ready[n_ready]
        if devices[colocation[op]] < 0:
            devices[colocation[op]] = best_device
            room[best_device] -= needed[colocation[op]]
        end = best + seconds[op, best_device]
        free[best_device] = end
        for place in range(outputs[0][op], outputs[0][op + 1]):
            tensor = outputs[1][place]
            for device in range(count):
                come = end
                if device != best_device:
                    come += (
                        latency[best_device, device] + size[tensor] * per_byte[best_device, device]
                    )
                for reader in range(readers[0][tensor], readers[0][tensor + 1]):
                    target = readers[1][reader]
                    if come > arrival[target, device]:
                        arrival[target, device] = come
            for reader in range(readers[0][tensor], readers[0][tensor + 1]):
                target = readers[1][reader]
                missing[target] -= 1
                if missing[target] == 0:
                    ready[n_ready] = target
                    n_ready += 1
