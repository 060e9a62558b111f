"""How long a step of a given placement takes by a list schedule: an estimate, not a simulation.

Operations run in the order in which they could start if no device and no channel were ever busy. A
device runs one operation at a time, sends one tensor and receives one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.list_scheduler import prepare
from baselines.list_scheduling.memory_tracker import MemoryTracker, enter, track_memory
from baselines.list_scheduling.units import units
from baselines.list_scheduling.work import Work, row
from suite.core.arrays import Floats, Ints
from suite.core.compilation import inline, kernel, lean_kernel
from suite.core.cores import my_share
from suite.core.problem import Problem


class Estimate:
    """Estimates placements of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Look up times and links; Unsupported without a GPU."""
        self.problem = problem
        self._work, _, _ = prepare(problem, units(problem, coplaced=False))

    def __call__(self, class_devices: Ints) -> tuple[float, NDArray[np.int64]]:
        """Seconds of a step, and int64[devices] peak bytes, of a placement int[n_classes]."""
        devices, order = self._ordered(class_devices)
        return self._scheduled(devices, order), self._peak(class_devices, order)

    def of_all(self, rows: Sequence[Ints]) -> list[tuple[float, NDArray[np.int64]]]:
        """Seconds and peak bytes of each placement int[n_classes], on all cores of this process."""
        with ThreadPoolExecutor(my_share().threads) as pool:
            return list(pool.map(self, rows))

    def seconds(self, rows: Ints) -> Floats:
        """float64[rows]: of a step of each placement int[rows, n_classes], memory left aside."""
        with ThreadPoolExecutor(my_share().threads) as pool:
            found = pool.map(lambda one: self._scheduled(*self._ordered(one)), rows)
        return np.fromiter(found, np.float64, len(rows))

    def peak(self, class_devices: Ints) -> NDArray[np.int64]:
        """int64[devices]: peak bytes of a placement int[n_classes].

        Memory is counted as by a list scheduler
        (:mod:`baselines.list_scheduling.memory_tracker`), after each operation, when what it was
        the last to read has been given back.
        """
        return self._peak(class_devices, self._ordered(class_devices)[1])

    def _ordered(self, class_devices: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """int64[ops]: device of each operation, and the operations in the order they run in."""
        devices = np.asarray(class_devices, np.int64)[self._work.unit]
        starts = np.zeros(len(devices))
        _earliest_starts(self._work, devices, starts)
        return devices, np.argsort(starts, kind="stable")

    def _scheduled(self, devices: NDArray[np.int64], order: NDArray[np.int64]) -> float:
        count = self.problem.machine.n_devices
        queues = Queues(np.zeros(len(devices)), *(np.zeros(count) for _ in range(4)))
        return float(_list_schedule(self._work, queues, devices, order))

    def _peak(self, class_devices: Ints, order: NDArray[np.int64]) -> NDArray[np.int64]:
        classes = np.asarray(class_devices, np.int64)
        tracker = track_memory(self.problem, self._work.unit, classes)
        peak = tracker.used.copy()
        _raise_peak(self._work, tracker, classes[self._work.unit], order, peak)
        return peak


class Queues(NamedTuple):
    """Seconds up to which all is settled; zero at first."""

    ready: Floats
    """float64[ops]: when all inputs of an operation are there."""
    free: Floats
    """float64[devices]: when a device has run what it runs."""
    sends: Floats
    receives: Floats
    """float64[devices]: when a device has sent, and received, all that it sends and receives."""
    there: Floats
    """float64[devices]: when the tensor at hand is on a device."""


@inline
def _travel(work: Work, tensor: int, source: int, target: int) -> float:
    """Seconds from one device to another."""
    wait = work.latency[source, target]
    seconds: float = wait + work.size[tensor] * work.per_byte[source, target]
    return seconds


@lean_kernel
def _earliest_starts(work: Work, devices: NDArray[np.int64], start: Floats) -> None:
    """Fill in when operations could start if nothing ever waited; zero at first."""
    outputs, readers = work.outputs, work.readers
    # In topological order, so that an operation's start is known before its readers'.
    for op in range(len(devices)):
        end = start[op] + work.seconds[op, devices[op]]
        for k in range(outputs[0][op], outputs[0][op + 1]):
            tensor = outputs[1][k]
            for i in range(readers[0][tensor], readers[0][tensor + 1]):
                reader = readers[1][i]
                come = end
                if devices[reader] != devices[op]:
                    come += _travel(work, tensor, devices[op], devices[reader])
                start[reader] = max(start[reader], come)


@lean_kernel
def _list_schedule(
    work: Work, q: Queues, devices: NDArray[np.int64], order: NDArray[np.int64]
) -> float:
    """Seconds of the step."""
    outputs, readers = work.outputs, work.readers
    last = 0.0
    for op in order:
        here = devices[op]
        end = max(q.free[here], q.ready[op]) + work.seconds[op, here]
        q.free[here] = end
        last = max(last, end)
        for k in range(outputs[0][op], outputs[0][op + 1]):
            tensor = outputs[1][k]
            # Sent once to each device that reads it.
            for device in range(len(q.there)):
                q.there[device] = np.inf
            q.there[here] = end
            for i in range(readers[0][tensor], readers[0][tensor + 1]):
                reader = readers[1][i]
                target = devices[reader]
                if q.there[target] == np.inf:
                    begin = max(end, q.sends[here], q.receives[target])
                    q.there[target] = begin + _travel(work, tensor, here, target)
                    q.sends[here] = q.receives[target] = q.there[target]
                q.ready[reader] = max(q.ready[reader], q.there[target])
    return last


@kernel
def _raise_peak(
    work: Work, tracker: MemoryTracker, devices: Ints, order: Ints, peak: NDArray[np.int64]
) -> None:
    """Raise ``peak``, int64[devices], to the most bytes that each device holds."""
    for op in order:
        enter(tracker, row(work.inputs, op), row(work.outputs, op), devices[op])
        for device in range(len(peak)):
            peak[device] = max(peak[device], tracker.used[device])
