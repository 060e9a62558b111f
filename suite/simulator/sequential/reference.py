"""The semantics ``hetero`` (docs/simulator.md) in plain Python, slow and clear."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.simulator.channels import channels_of
from suite.simulator.durations import nanoseconds
from suite.simulator.placed import Placed
from suite.simulator.reference_memory import Tensors
from suite.simulator.result import StepResult
from suite.simulator.semantics import HETERO


@dataclass(frozen=True, eq=False)
class Schedule:
    """When everything happens, in nanoseconds, and what it comes to."""

    result: StepResult
    start: list[int] = field(default_factory=list)
    """Of every operation."""
    end: list[int] = field(default_factory=list)
    transfers: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """(tensor, from device, to device, start, end)."""


def simulate(problem: Problem, devices: Ints) -> Schedule:
    """One step with operation i on device ``devices[i]``: one thing at a time.

    Operations run in topological order. Behind each, what it made is sent to every other device
    that reads it.
    """
    machine = problem.machine
    placed = Placed(problem, devices, HETERO)
    memory = Tensors(placed)
    duration = nanoseconds(problem.seconds)
    names, channel, _ = channels_of(machine, HETERO)
    busy, moved, now = [0] * machine.n_devices, [0] * len(names), 0
    start, end, transfers = list[int](), list[int](), list[tuple[int, int, int, int, int]]()
    for op, device in enumerate(placed.at):
        memory.started(op)
        start.append(now)
        now += int(duration[op, device])
        end.append(now)
        busy[device] += int(duration[op, device])
        memory.ended(op)
        for tensor in placed.outputs[op]:
            size = placed.size[tensor]
            for target in placed.targets(tensor):
                memory.requested(tensor, target)
                link = machine.link_of[device, target]
                sent, seconds = now, link.latency + size / link.bandwidth
                now += int(nanoseconds(np.array(seconds)))
                transfers.append((tensor, device, target, sent, now))
                moved[channel[device, target]] += size
                memory.arrived(tensor, device)
    peak = np.array(memory.peak, np.int64)
    arrays = np.array(busy, np.int64), peak, np.array(moved, np.int64)
    result = StepResult(now, *arrays, HETERO.full(peak, machine.memory))
    return Schedule(result, start, end, transfers)
