"""What list schedulers share: operations, whose units are placed as soon as one of theirs is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.gaps import occupy
from baselines.list_scheduling.memory_tracker import MemoryTracker, enter, has_room, track_memory
from baselines.list_scheduling.work import Work, row, rows
from suite.core.arrays import Floats
from suite.core.compilation import kernel
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem

Units = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Unit of each operation, int64[ops], and home of each unit or -1, int64[units]."""


class Plan(NamedTuple):
    """What is decided so far."""

    devices: NDArray[np.int64]
    """int64[units], or -1."""
    arrival: Floats
    """float64[ops, devices]: when all inputs that are made so far can be on each device."""
    busy: Floats
    """float64[2, devices, ops]: starts and ends of what each device does, in order of time."""
    counts: NDArray[np.int64]
    """int64[devices]: operations on each device."""


def prepare(problem: Problem, units: Units) -> tuple[Work, Plan, MemoryTracker]:
    """Return the arrays that the compiled schedulers work on; Unsupported without a GPU."""
    graph, machine = problem.graph, problem.machine
    if not machine.accelerators:
        raise Unsupported("the machine has no GPU")
    count = machine.n_devices
    latency, per_byte = np.zeros((2, count, count))
    for (source, target), link in machine.link_of.items():
        latency[source, target], per_byte[source, target] = link.latency, 1 / link.bandwidth
    unit, homes = units
    allowed = np.zeros((len(homes), count), np.bool_)
    gpus = list(machine.accelerators)
    allowed[unit[:, None], gpus] = problem.allowed[graph.colocation][:, gpus]
    work = Work(
        np.array(problem.seconds),
        allowed,
        unit,
        rows(*graph.inputs),
        rows(*graph.outputs),
        rows(graph.consumer_offsets, graph.consumers),
        np.array(graph.tensor_bytes, np.float64),
        latency,
        per_byte,
    )
    plan = Plan(
        homes.copy(),
        np.zeros((graph.n_ops, count)),
        np.zeros((2, count, graph.n_ops + 1)),
        np.zeros(count, np.int64),
    )
    return work, plan, track_memory(problem, unit, homes)


def finish(problem: Problem, units: Units, plan: Plan, stuck: int) -> Placement:
    """Wrap what was decided; Unsupported naming operation ``stuck`` unless that is -1."""
    if stuck >= 0:
        name = problem.graph.op_names[stuck]
        raise Unsupported(f"no GPU has room for {name!r} and what must be with it")
    return Placement.of(problem, plan.devices[units[0]])


@kernel
def fits(work: Work, plan: Plan, tracker: MemoryTracker, op: int, device: int) -> bool:
    """Whether an operation may go to a device: the one decided, or an allowed one with room."""
    unit = work.unit[op]
    if plan.devices[unit] >= 0:
        decided: bool = plan.devices[unit] == device
        return decided
    if not work.allowed[unit, device]:
        return False
    return has_room(tracker, unit, row(work.inputs, op), row(work.outputs, op), device)


@kernel
def commit(
    work: Work, plan: Plan, tracker: MemoryTracker, op: int, device: int, start: float
) -> float:
    """Place an operation: decide for its unit, take time and memory, send its outputs on."""
    unit = work.unit[op]
    if plan.devices[unit] < 0:
        plan.devices[unit] = device
        tracker.used[device] += tracker.resident[unit]
    enter(tracker, row(work.inputs, op), row(work.outputs, op), device)
    end: float = start + work.seconds[op, device]
    occupy(plan.busy[0, device], plan.busy[1, device], plan.counts[device], start, end)
    plan.counts[device] += 1
    # Whatever device a reader goes to, its arrival there is then known without its other inputs.
    for tensor in row(work.outputs, op):
        for target in range(len(plan.counts)):
            come = end
            if target != device:
                come += work.latency[device, target]
                come += work.size[tensor] * work.per_byte[device, target]
            for reader in row(work.readers, tensor):
                plan.arrival[reader, target] = max(plan.arrival[reader, target], come)
    return end
