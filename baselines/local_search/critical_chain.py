"""The critical chain of a simulated step: what each operation on it waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.core.problem import Problem
from suite.core.scores import Judge
from suite.simulator.compiled.judge import Simulator
from suite.simulator.timeline import Timeline, record

Links = NDArray[np.int64]
LOCAL, TRANSFER, QUEUE = range(3)
_LOCAL_WEIGHT = 0.02
"""Weight of an input made on the same device, by its duration: moving it seldom helps."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Links from the last operation of a step back to its start."""

    earlier: NDArray[np.int64]
    later: NDArray[np.int64]
    """int64[links]: classes; ``later`` started when ``earlier`` was done (and had arrived)."""
    crosses: NDArray[np.bool_]
    """bool[links]: whether a transfer lies between them."""
    summed: NDArray[np.float64]
    """float64[links]: running sums of weights, each the nanoseconds that the link costs."""

    def draw(self, rng: np.random.Generator) -> tuple[int, int, bool]:
        """Draw a link in proportion to its weight: (earlier, later, crosses)."""
        at = int(np.searchsorted(self.summed, rng.random() * self.summed[-1], side="right"))
        at = min(at, len(self.earlier) - 1)
        return int(self.earlier[at]), int(self.later[at]), bool(self.crosses[at])


class Tracer:
    """Finds critical chains of placements of one problem.

    For that it needs the times of all operations, where a judge gives the step time alone. It
    traces placements that have been evaluated already, and learns nothing of any other: a trace
    is not an evaluation, but counted apart (``traces``).
    """

    def __init__(self, problem: Problem, judge: Judge) -> None:
        """Look up every operation's inputs. Steps are traced under the rules of ``judge``.

        A judge that is no simulator keeps no times; its steps are traced under the default rules.
        """
        self.simulator = judge if isinstance(judge, Simulator) else Simulator(problem)
        self.graph, self.traces = problem.graph, 0
        tensors, consumers = self.graph.edges
        self._inputs = np.asarray(tensors)[np.argsort(consumers, kind="stable")].astype(np.int64)
        counts = np.bincount(consumers, minlength=self.graph.n_ops)
        self._offsets = np.concatenate([[0], np.cumsum(counts)])

    def times(self, devices: Ints) -> Timeline:
        """Trace the step of ``devices``, int32[ops]."""
        self.traces += 1
        return record(self.simulator, devices)

    def chain(self, times: Timeline) -> Chain:
        """The chain of a step that was traced; a graph of one operation has no link."""
        waiting, waited, kind, cost = _trace(
            int(np.argmax(times.end)),
            *(times.start, times.end, times.devices),
            *(self._offsets, self._inputs, self.graph.producer),
            _previous(times),
            *_arrivals(times),
        )
        spent = (times.end - times.start)[waited]
        weight = np.where(kind == TRANSFER, cost, np.where(kind == QUEUE, spent, 0))
        weight = weight + _LOCAL_WEIGHT * spent * (kind == LOCAL) + 1.0
        classes = self.graph.colocation.astype(np.int64)
        summed = np.cumsum(weight)
        return Chain(classes[waited], classes[waiting], kind == TRANSFER, summed)


def _previous(times: Timeline) -> NDArray[np.int64]:
    """int64[ops]: what the device did just before each operation, -1 for nothing."""
    # Operations start nearly in the order of their numbers, for which this sort is the fastest.
    order = np.argsort(times.start, kind="stable")
    return _before(order, times.devices, times.problem.machine.n_devices)


def _arrivals(times: Timeline) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Keys tensor * devices + target in order, when each arrived, and the number of devices."""
    count = times.problem.machine.n_devices
    keys = times.tensor.astype(np.int64) * count + times.target
    order = np.argsort(keys)
    return keys[order], times.arrived[order], count


@kernel
def _before(order: Ints, devices: Ints, count: int) -> Links:
    """int64[ops]: the operation before each one, int64[ops] in order, on its device, or -1."""
    previous, last = np.empty(len(order), np.int64), np.full(count, -1, np.int64)
    for op in order:
        previous[op] = last[devices[op]]
        last[devices[op]] = op
    return previous


@kernel
def _trace(
    last: int,
    start: Ints,
    end: Ints,
    devices: Ints,
    offsets: Ints,
    inputs: Ints,
    producer: Ints,
    previous: Ints,
    keys: Ints,
    arrived: Ints,
    count: int,
) -> tuple[Links, Links, Links, Links]:
    """Walk back from ``last``: (who waited, for whom, why, nanoseconds between them) per link."""
    links = np.empty((4, len(start)), np.int64)
    n, op = 0, last
    while True:
        blamed, ready, why, between = -1, np.int64(-1), LOCAL, np.int64(0)
        for at in range(offsets[op], offsets[op + 1]):
            tensor = inputs[at]
            source = producer[tensor]
            kind, came = LOCAL, end[source]
            if devices[source] != devices[op]:
                key = np.int64(tensor) * count + devices[op]
                kind, came = TRANSFER, arrived[np.searchsorted(keys, key)]
            if came > ready:
                blamed, ready, why, between = source, came, kind, came - end[source]
        # It had all inputs but its device was busy: then it waited for the device.
        before = previous[op]
        if before >= 0 and end[before] > ready:
            blamed, why, between = before, QUEUE, np.int64(0)
        if blamed < 0:
            return links[0, :n], links[1, :n], links[2, :n], links[3, :n]
        links[0, n], links[1, n], links[2, n], links[3, n] = op, blamed, why, between
        n, op = n + 1, blamed
