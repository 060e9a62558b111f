"""What a simulated step waited for: back from its end, always to the input that came last.

Each operation on this path waited for the one before it, so that the parts add up to the step:
computing, transfers, and waiting for a device or a channel that was busy with something else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from suite.core.arrays import Ints
from suite.simulator.channels import Channels, channels_of
from suite.simulator.semantics import PLACEBENCH, Semantics
from suite.simulator.timeline import Timeline

NOTHING = -1


@dataclass(frozen=True)
class Visit:
    """One operation on the path, and the transfer by which its last input came; nanoseconds."""

    operation: int
    """NOTHING at the end of a step that ends with a transfer, or with a pause after one."""
    device: int
    """Where it runs, or where that transfer leads."""
    ready: int
    """When its last input was there."""
    start: int
    end: int
    transfer: int = NOTHING
    """Row of the timeline's transfers; NOTHING where the input was made on the same device."""


@dataclass(frozen=True)
class Blamed:
    """What was waited for that was not an input, and for how many nanoseconds."""

    what: str
    """The type of operations that ran, or the operation whose tensor was sent."""
    where: str
    """A device, or ``source to target``."""
    nanoseconds: int


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """The operations that a step ends with and waited for, the last one first."""

    line: Timeline
    semantics: Semantics
    visits: tuple[Visit, ...]

    @property
    def operations(self) -> int:
        """How many operations are on it."""
        return sum(visit.operation != NOTHING for visit in self.visits)

    @property
    def transfers(self) -> int:
        """How many transfers are on it."""
        return sum(visit.transfer != NOTHING for visit in self.visits)

    @cached_property
    def computing(self) -> dict[str, int]:
        """Nanoseconds in which its operations run, by device."""
        return _sums((self._device(v.device), v.end - v.start) for v in self.visits)

    @cached_property
    def sending(self) -> dict[str, int]:
        """Nanoseconds in which its transfers are under way, by ``source to target``."""
        line, sent = self.line, self._sent
        return _sums((self._ends(t), int(line.arrived[t] - line.sent[t])) for t in sent)

    @cached_property
    def behind_operations(self) -> dict[str, int]:
        """Nanoseconds in which an operation is ready and its device runs others, by device."""
        return _sums((self._device(v.device), self._busy(v)) for v in self.visits)

    @cached_property
    def pausing(self) -> dict[str, int]:
        """Nanoseconds in which one is ready and its device sends or receives, by device."""
        waits = ((v, v.start - v.ready - self._busy(v)) for v in self.visits)
        return _sums((self._device(v.device), wait) for v, wait in waits)

    @cached_property
    def behind_transfers(self) -> dict[str, int]:
        """Nanoseconds in which a tensor is there and its channel has others, by both ends."""
        return _sums((self._ends(t), int(self.line.sent[t]) - self._made(t)) for t in self._sent)

    @cached_property
    def other_operations(self) -> list[Blamed]:
        """What ran while operations of the path were ready: types and devices, most time first.

        Where a device runs several operations at once, the sum may be more than the wait.
        """
        types, found = self.line.problem.graph.op_types, dict[tuple[str, str], int]()
        for visit in self.visits:
            where = self._device(visit.device)
            for op, within in self._run_on[visit.device].meanwhile(visit.ready, visit.start):
                found[types[op], where] = found.get((types[op], where), 0) + within
        return _ranked(found)

    @cached_property
    def other_transfers(self) -> list[Blamed]:
        """What was sent while tensors of the path waited for a channel, most time first.

        A transfer that has two channels may wait for either, so that the sum may be more.
        """
        line, found = self.line, dict[tuple[str, str], int]()
        names, producer = line.problem.graph.op_names, line.problem.graph.producer
        for row in self._sent:
            since, until = self._made(row), int(line.sent[row])
            # A transfer may share both channels with this one, and counts once.
            ahead = dict(
                one
                for channel in self._channels_of(row)
                for one in self._sent_over[channel].meanwhile(since, until)
            )
            for other, within in ahead.items():
                key = names[producer[line.tensor[other]]], self._ends(other)
                found[key] = found.get(key, 0) + within
        return _ranked(found)

    @property
    def _sent(self) -> list[int]:
        return [visit.transfer for visit in self.visits if visit.transfer != NOTHING]

    def _device(self, index: int) -> str:
        return self.line.problem.machine.devices[index].name

    def _ends(self, row: int) -> str:
        source, target = int(self.line.source[row]), int(self.line.target[row])
        return f"{self._device(source)} to {self._device(target)}"

    def _made(self, row: int) -> int:
        """When the tensor of a transfer is there to be sent."""
        return int(self.line.end[self.line.problem.graph.producer[self.line.tensor[row]]])

    def _busy(self, visit: Visit) -> int:
        """Nanoseconds between ready and start in which the device computes."""
        return self._run_on[visit.device].covered(visit.ready, visit.start)

    @cached_property
    def _run_on(self) -> list[_Spans]:
        """When each device runs which operations."""
        line, count = self.line, self.line.problem.machine.n_devices
        here = (np.flatnonzero(line.devices == device) for device in range(count))
        return [_Spans(ops, line.start, line.end) for ops in here]

    @cached_property
    def _sent_over(self) -> list[_Spans]:
        """When each channel has which transfers."""
        line, (names, *both) = self.line, self._channels
        over = [channels[line.source, line.target] for channels in both]
        here = (
            np.flatnonzero(line.copied & ((over[0] == channel) | (over[1] == channel)))
            for channel in range(len(names))
        )
        return [_Spans(rows, line.sent, line.arrived) for rows in here]

    def _channels_of(self, row: int) -> list[int]:
        ends = self.line.source[row], self.line.target[row]
        return [int(of[ends]) for of in self._channels[1:] if of[ends] != NOTHING]

    @cached_property
    def _channels(self) -> Channels:
        return channels_of(self.line.problem.machine, self.semantics)


class _Spans:
    """Things that begin and end, and which of them are there between two times."""

    def __init__(self, things: Ints, start: Ints, end: Ints) -> None:
        """``things``: indices into int64[n] starts and ends."""
        self._things = things[np.argsort(start[things], kind="stable")]
        self._start, self._end = start[self._things], end[self._things]
        self._latest = np.maximum.accumulate(self._end)

    def meanwhile(self, since: int, until: int) -> Iterator[tuple[int, int]]:
        """Things in the order of their starts, and nanoseconds of each between these times."""
        for at in self._between(since, until):
            yield (
                int(self._things[at]),
                min(until, int(self._end[at])) - max(since, int(self._start[at])),
            )

    def covered(self, since: int, until: int) -> int:
        """Nanoseconds between these times in which there is any."""
        done, passed = 0, since
        for at in self._between(since, until):
            stop = min(until, int(self._end[at]))
            done += max(0, stop - max(passed, int(self._start[at])))
            passed = max(passed, stop)
        return done

    def _between(self, since: int, until: int) -> Iterator[int]:
        first = int(np.searchsorted(self._latest, since, side="right"))
        last = int(np.searchsorted(self._start, until))
        return (at for at in range(first, last) if self._end[at] > since)


def critical_path(line: Timeline, semantics: Semantics = PLACEBENCH) -> CriticalPath:
    """The path of one step, simulated by these semantics.

    Of several inputs that come at once it goes to the one listed first.

    Where one thing happens at a time (``hetero``), an operation also waits for what runs or is sent
    on other devices, which counts as a pause of its own.
    """
    graph, count = line.problem.graph, line.problem.machine.n_devices
    tensors, consumers = graph.edges
    order = np.argsort(consumers, kind="stable")
    inputs = tensors[order]
    bounds = np.searchsorted(consumers[order], np.arange(graph.n_ops + 1))
    keys = line.tensor.astype(np.int64) * count + line.target
    by_key = np.argsort(keys, kind="stable")
    keys = keys[by_key]

    def transfer_of(tensor: int, device: int) -> int:
        return int(by_key[np.searchsorted(keys, tensor * count + device)])

    def last_input(op: int) -> tuple[int, int, int]:
        """Who made it, the transfer that brought it, when it was there."""
        found = NOTHING, NOTHING, 0
        for tensor in inputs[bounds[op] : bounds[op + 1]].tolist():
            source, row = int(graph.producer[tensor]), NOTHING
            came = int(line.end[source])
            if line.devices[source] != line.devices[op]:
                row = transfer_of(tensor, int(line.devices[op]))
                came = int(line.arrived[row])
            if came > found[2] or found[0] == NOTHING:
                found = source, row, came
        return found

    def walk() -> Iterator[Visit]:
        op = int(np.argmax(line.end))
        ends = int(line.end[op])
        last = int(np.argmax(line.arrived)) if len(line.arrived) else NOTHING
        if last != NOTHING and line.arrived[last] > ends:
            yield _ending(line, int(line.target[last]), int(line.arrived[last]), last)
            op = int(graph.producer[line.tensor[last]])
        elif ends < line.result.nanoseconds:
            yield _ending(line, int(line.devices[op]), ends)
        while op != NOTHING:
            source, row, ready = last_input(op)
            start, end, device = int(line.start[op]), int(line.end[op]), int(line.devices[op])
            yield Visit(op, device, ready, start, end, row)
            op = source

    return CriticalPath(line, semantics, tuple(walk()))


def _ending(line: Timeline, device: int, ready: int, row: int = NOTHING) -> Visit:
    """What comes after the last operation: a transfer that none reads in time, or a pause."""
    end = line.result.nanoseconds
    return Visit(NOTHING, device, ready, end, end, row)


def _sums(parts: Iterator[tuple[str, int]]) -> dict[str, int]:
    """The sum of each name's parts, most first; without those that are nothing."""
    found = dict[str, int]()
    for name, nanoseconds in parts:
        found[name] = found.get(name, 0) + nanoseconds
    return dict(sorted(((n, ns) for n, ns in found.items() if ns), key=lambda one: -one[1]))


def _ranked(found: dict[tuple[str, str], int]) -> list[Blamed]:
    blamed = [Blamed(*key, nanoseconds) for key, nanoseconds in found.items()]
    return sorted(blamed, key=lambda one: -one.nanoseconds)
