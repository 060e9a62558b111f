"""How long a step of a given placement takes by a list schedule: an estimate, not a simulation.

Operations run in the order in which they could start if no device and no channel were ever busy. A
device runs one operation at a time, sends one tensor and receives one at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.list_scheduler import prepare
from baselines.list_scheduling.memory_tracker import MemoryTracker, enter, track_memory
from baselines.list_scheduling.units import units
from baselines.list_scheduling.work import Work, row
from suite.core.arrays import Floats, Ints
from suite.core.compilation import inline, kernel
from suite.core.problem import Problem


class Estimate:
    """Estimates placements of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Look up times and links; Unsupported without a GPU."""
        self.problem = problem
        self._work, _, _ = prepare(problem, units(problem, coplaced=False))

    def __call__(self, class_devices: Ints) -> tuple[float, NDArray[np.int64]]:
        """Seconds of a step, and int64[devices] peak bytes, of a placement int[n_classes].

        Memory is counted as by a list scheduler
        (:mod:`baselines.list_scheduling.memory_tracker`), after each operation, when what it was
        the last to read has been given back.
        """
        classes = np.asarray(class_devices, np.int64)
        unit = self._work.unit
        order = np.argsort(_earliest_starts(self._work, classes[unit]), kind="stable")
        tracker = track_memory(self.problem, unit, classes)
        peak = tracker.used.copy()
        return _list_schedule(self._work, tracker, classes[unit], order, peak), peak


@inline
def _travel(work: Work, tensor: int, source: int, target: int) -> float:
    """Seconds from one device to another."""
    wait = work.latency[source, target]
    seconds: float = wait + work.size[tensor] * work.per_byte[source, target]
    return seconds


@kernel
def _earliest_starts(work: Work, devices: Ints) -> Floats:
    """float64[ops]: when each operation could start if nothing ever waited for its turn."""
    start = np.zeros(len(devices))
    # In topological order, so that an operation's start is known before its readers'.
    for op in range(len(devices)):
        end = start[op] + work.seconds[op, devices[op]]
        for tensor in row(work.outputs, op):
            for reader in row(work.readers, tensor):
                come = end
                if devices[reader] != devices[op]:
                    come += _travel(work, tensor, devices[op], devices[reader])
                start[reader] = max(start[reader], come)
    return start


@kernel
def _list_schedule(
    work: Work, tracker: MemoryTracker, devices: Ints, order: Ints, peak: NDArray[np.int64]
) -> float:
    """Seconds of the step; raises ``peak`` to the most bytes that each device holds."""
    count = len(peak)
    ready, free, last = np.zeros(len(devices)), np.zeros(count), 0.0
    sends, receives, there = np.zeros(count), np.zeros(count), np.empty(count)
    for op in order:
        here = devices[op]
        end = max(free[here], ready[op]) + work.seconds[op, here]
        free[here] = end
        last = max(last, end)
        enter(tracker, row(work.inputs, op), row(work.outputs, op), here)
        for device in range(count):
            peak[device] = max(peak[device], tracker.used[device])
        for tensor in row(work.outputs, op):
            # Sent once to each device that reads it.
            there[:] = np.inf
            there[here] = end
            for reader in row(work.readers, tensor):
                target = devices[reader]
                if there[target] == np.inf:
                    begin = max(end, sends[here], receives[target])
                    there[target] = begin + _travel(work, tensor, here, target)
                    sends[here] = receives[target] = there[target]
                ready[reader] = max(ready[reader], there[target])
    return last
