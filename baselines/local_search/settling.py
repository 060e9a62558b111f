"""Light operations settle where fewest transfers are, once the heavy ones have their devices.

Reshapes, constants and element-wise operations are most of a graph and little of its work: where
they are matters for the transfers alone. One after the other goes to the device on which its own
time and the transfers of what it reads and makes are shortest, while all others stay (iterated
conditional modes, Besag 1986).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import mean_transfer
from suite.core.arrays import Bools, Floats, Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem

Devices = NDArray[np.int64]
LIGHT = 0.2
"""The shortest classes that do this share of all work together are light."""
SWEEPS = 3
"""Passes over the light classes, forth and back in turn."""


class Settling:
    """What is to be known of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Look up who reads what of whom, and what a transfer costs in the mean over links."""
        graph, count = problem.graph, problem.graph.n_classes
        tensors, self._reader = graph.class_reads
        used, tensor = np.unique(tensors, return_inverse=True)
        self._maker = graph.colocation[graph.producer[used]].astype(np.int64)
        self._cost = mean_transfer(problem, np.arange(problem.machine.n_devices))[used]
        self._readers = _offsets(tensor, len(used))
        order = np.argsort(self._reader, kind="stable")
        self._read, self._inputs = tensor[order], _offsets(self._reader, count)
        self._made = np.argsort(self._maker, kind="stable")
        self._outputs = _offsets(self._maker, count)
        self._seconds = problem.class_seconds
        self.light = np.flatnonzero(_light(self._seconds.min(axis=1)))
        """int64[light]: the classes that settle."""

    def settled(self, row: Devices, moved: Devices | None = None) -> Devices:
        """Return ``row``, int64[n_classes], with its light classes settled.

        Of these all, or those that are among the ``moved`` classes or beside one. A device that
        cannot run a class is left, and none such is chosen.
        """
        row, light = row.copy(), self.light
        if moved is not None:
            near = _beside(
                *(moved, len(row), self._maker),
                *(self._readers, self._reader, self._inputs, self._read, self._outputs, self._made),
            )
            light = light[near[light]]
        _settle(
            *(row, light, self._seconds, self._cost, self._maker),
            *(self._readers, self._reader, self._inputs, self._read, self._outputs, self._made),
        )
        return row


def _offsets(keys: Ints, count: int) -> Devices:
    """int64[count + 1]: where each key's entries begin, once sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=count))]).astype(np.int64)


def _light(seconds: Floats) -> Bools:
    """bool[n_classes]: the shortest, as far as they do not exceed their share of the work."""
    order = np.argsort(seconds, kind="stable")
    light = np.zeros(len(seconds), np.bool_)
    light[order] = np.cumsum(seconds[order]) <= LIGHT * seconds.sum()
    return light


@kernel
def _beside(
    moved: Ints,
    count: int,
    maker: Ints,
    readers: Ints,
    reader: Ints,
    inputs: Ints,
    read: Ints,
    outputs: Ints,
    made: Ints,
) -> Bools:
    """bool[n_classes]: these classes, what they read from and what reads from them."""
    near = np.zeros(count, np.bool_)
    for number in range(len(moved)):
        one = moved[number]
        near[one] = True
        for at in range(inputs[one], inputs[one + 1]):
            near[maker[read[at]]] = True
        for at in range(outputs[one], outputs[one + 1]):
            for other in range(readers[made[at]], readers[made[at] + 1]):
                near[reader[other]] = True
    return near


@kernel
def _settle(
    row: Ints,
    light: Ints,
    seconds: Floats,
    cost: Floats,
    maker: Ints,
    readers: Ints,
    reader: Ints,
    inputs: Ints,
    read: Ints,
    outputs: Ints,
    made: Ints,
) -> None:
    """Sweep over the light classes until none moves."""
    devices = seconds.shape[1]
    # How many classes on each device read a tensor: it is sent once to each where any does.
    present = np.zeros((len(maker), devices), np.int32)
    for tensor in range(len(maker)):
        for at in range(readers[tensor], readers[tensor + 1]):
            present[tensor, row[reader[at]]] += 1
    spent = np.empty(devices)
    for sweep in range(SWEEPS):
        moved = 0
        for number in range(len(light)):
            one = light[number if sweep % 2 == 0 else len(light) - 1 - number]
            here = row[one]
            spent[:] = seconds[one]
            for at in range(inputs[one], inputs[one + 1]):
                tensor = read[at]
                for device in range(devices):
                    others = present[tensor, device] - (device == here)
                    if others == 0 and device != row[maker[tensor]]:
                        spent[device] += cost[tensor]
            for at in range(outputs[one], outputs[one + 1]):
                tensor = made[at]
                for device in range(devices):
                    # Sent to all readers' devices but this one.
                    if present[tensor, device] > 0:
                        spent[device] -= cost[tensor]
            best = here
            for device in range(devices):
                if spent[device] < spent[best] - 1e-12:
                    best = device
            if best != here:
                row[one] = best
                moved += 1
                for at in range(inputs[one], inputs[one + 1]):
                    present[read[at], here] -= 1
                    present[read[at], best] += 1
        if moved == 0:
            return
