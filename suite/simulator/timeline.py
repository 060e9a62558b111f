"""When everything happened in one simulated step, for traces and utilisation strips."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.simulator.compiled.judge import Simulator
from suite.simulator.compiled.state import Work
from suite.simulator.control_edges import read_instead
from suite.simulator.result import StepResult
from suite.simulator.rows import device_row
from suite.simulator.semantics import PLACEBENCH, Semantics
from suite.simulator.sequential.judge import SequentialSimulator
from suite.simulator.sequential.reference import simulate


@dataclass(frozen=True, eq=False)
class Timeline:
    """Start and end of every operation and transfer, int64 nanoseconds."""

    problem: Problem
    devices: Ints
    """int32[ops]."""
    result: StepResult
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    """int64[ops]."""
    tensor: NDArray[np.int32]
    source: NDArray[np.int32]
    target: NDArray[np.int32]
    """int32[transfers]: what was sent from which device to which. A broadcast goes to its sender.
    What one transfer serves besides has rows of its own at the same times: each device that reads
    a broadcast, and a control edge for which the producer's first output is sent."""
    requested: NDArray[np.int64]
    sent: NDArray[np.int64]
    arrived: NDArray[np.int64]
    """int64[transfers]."""
    copied: Bools
    """bool[transfers]: False where one process hands on what it has in host memory, and in rows
    of what another's transfer serves."""

    def copies(self) -> Timeline:
        """The same step without transfers that copy nothing."""
        names = ("tensor", "source", "target", "requested", "sent", "arrived", "copied")
        return replace(self, **{name: getattr(self, name)[self.copied] for name in names})

    def utilisation(self, bins: int) -> Floats:
        """float64[devices, bins]: the share of each equal part of the step a device computes."""
        edges = np.linspace(0, self.result.nanoseconds, bins + 1)
        shares = np.empty((self.problem.machine.n_devices, bins))
        for device in range(len(shares)):
            here = np.flatnonzero(self.devices == device)
            starts, ends = _spans(self.start[here], self.end[here])
            done = np.concatenate([[0], np.cumsum(ends - starts)])
            running = np.searchsorted(starts, edges, side="right") - 1
            late = np.where(running >= 0, ends[running] - edges, 0) if len(starts) else edges * 0
            busy = done[running + 1] - np.maximum(late, 0)
            shares[device] = np.diff(busy) / np.maximum(np.diff(edges), 1e-9)
        return shares

    def to_chrome(self) -> dict[str, Any]:
        """Return trace JSON for Perfetto or chrome://tracing: a track per device and per link.

        Several where operations or transfers overlap, since a track shows one thing at a time.
        What a link shows is what it copies (:meth:`copies`).
        """
        sent = self.copies()
        names = [d.name for d in self.problem.machine.devices]
        lane, rows_of = _tracks(self.devices, len(names), self.start, self.end)
        pairs = list(zip(sent.source.tolist(), sent.target.tolist(), strict=True))
        number = {pair: i for i, pair in enumerate(sorted(set(pairs)))}
        links = list(number)
        link = np.array([number[pair] for pair in pairs], np.int64)
        link_row, links_of = _tracks(link, len(links), sent.sent, sent.arrived)
        events = [_named("process_name", i, 0, n) for i, n in enumerate(("devices", "links"))]
        events += [_named("thread_name", 0, i, names[d]) for i, d in enumerate(rows_of)]
        for row, (s, t) in enumerate(links[i] for i in links_of):
            to = "all" if s == t else names[t]
            events.append(_named("thread_name", 1, row, f"{names[s]} -> {to}"))
        graph = self.problem.graph
        for op, row in enumerate(lane.tolist()):
            span = self.start[op], self.end[op]
            about = {"name": graph.op_names[op], "cat": graph.op_types[op]}
            events.append(_span(about, 0, row, *span))
        for i, tensor in enumerate(sent.tensor.tolist()):
            about = {"name": graph.op_names[graph.producer[tensor]], "cat": "transfer"}
            waited = (sent.sent[i] - sent.requested[i]) / 1e3
            arguments = {"bytes": int(graph.tensor_bytes[tensor]), "waited_us": float(waited)}
            event = _span(about, 1, int(link_row[i]), sent.sent[i], sent.arrived[i])
            events.append(event | {"args": arguments})
        return {"traceEvents": events, "displayTimeUnit": "ms"}


def _tracks(owner: Ints, owners: int, start: Ints, end: Ints) -> tuple[Ints, list[int]]:
    """A track for each of these things, int64[things], and whose track it is.

    One an owner, more where its things overlap.
    """
    track = np.zeros(len(owner), np.int64)
    whose: list[int] = []
    order = np.lexsort((start, owner))
    bounds = np.searchsorted(owner[order], np.arange(owners + 1))
    for one in range(owners):
        free: list[tuple[int, int]] = []
        for thing in order[bounds[one] : bounds[one + 1]].tolist():
            if free and free[0][0] <= start[thing]:
                row = heapq.heappop(free)[1]
            else:
                row = len(whose)
                whose.append(one)
            heapq.heappush(free, (int(end[thing]), row))
            track[thing] = row
        if not free:
            whose.append(one)
    return track, whose


def _spans(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """When a device computes: its operations' starts and ends, those that overlap in one."""
    order = np.argsort(start, kind="stable")
    start, latest = start[order], np.maximum.accumulate(end[order])
    first = np.ones(len(start), np.bool_)
    first[1:] = start[1:] > latest[:-1]
    last = np.ones(len(start), np.bool_)
    last[:-1] = first[1:]
    return start[first], latest[last]


def timeline(
    problem: Problem,
    devices: Placement | Ints,
    policy: str | None = None,
    semantics: Semantics = PLACEBENCH,
) -> Timeline:
    """Simulate one placement, or int[ops], and keep all times."""
    if semantics.sequential:
        return _in_turn(SequentialSimulator(problem, policy), devices)
    return record(Simulator(problem, policy, semantics), devices)


def _in_turn(simulator: SequentialSimulator, placed: Placement | Ints) -> Timeline:
    """Of a step in which one thing happens at a time."""
    devices = device_row(simulator.problem, placed)
    found = simulate(simulator.problem, devices)
    moves = np.array(found.transfers, np.int64).reshape(-1, 5)
    return Timeline(
        simulator.problem,
        devices,
        simulator.run(devices),
        start=np.array(found.start, np.int64),
        end=np.array(found.end, np.int64),
        tensor=moves[:, 0].astype(np.int32),
        source=moves[:, 1].astype(np.int32),
        target=moves[:, 2].astype(np.int32),
        requested=moves[:, 3],
        sent=moves[:, 3],
        arrived=moves[:, 4],
        copied=np.ones(len(moves), np.bool_),
    )


def record(simulator: Simulator, placed: Placement | Ints) -> Timeline:
    """Simulate one placement, int[ops], with a simulator that is there, and keep all times."""
    devices = device_row(simulator.problem, placed)
    flat = simulator.layout.graph
    duration = flat.duration[np.arange(len(devices)), flat.kind[devices]]

    def keep(w: Work, n: int) -> Callable[[StepResult], Timeline]:
        start = w.op_start.copy()
        sent = w.tensor[:n].copy(), w.source[:n].copy(), w.target[:n].copy()
        times = w.requested[:n].copy(), w.started[:n].copy(), w.ended[:n].copy()
        copied = ~(simulator.problem.handed_on[sent[0]] & simulator.rules.at_once)
        transfers: tuple[NDArray[Any], ...] = (*sent, *times, copied)
        if simulator.semantics.broadcast or simulator.semantics.control == "output":
            transfers = _with_all_readers(simulator, devices, transfers)
        about = start, start + duration, *transfers
        return lambda result: Timeline(simulator.problem, devices, result, *about)

    result, made = simulator.record(devices, keep)
    return made(result)


def _with_all_readers(
    simulator: Simulator, devices: Ints, transfers: tuple[NDArray[Any], ...]
) -> tuple[NDArray[Any], ...]:
    """A timeline's columns of transfers, with a row for all that one transfer serves.

    Those are other devices than its target (a broadcast), and readers of another tensor (a control
    edge, for which the producer's first output is sent).
    """
    graph, count = simulator.problem.graph, simulator.problem.machine.n_devices
    sent, source, target, *times, copied = transfers
    tensors, readers = graph.edges
    away = devices[graph.producer[tensors]] != devices[readers]
    read = np.unique(tensors[away].astype(np.int64) * count + devices[readers[away]])
    keys = sent.astype(np.int64) * count + target
    tensor, reader = np.divmod(read[np.isin(read, keys, invert=True)], count)
    in_place = simulator.semantics.control == "output"
    whole = read_instead(graph)[tensor] if in_place else tensor
    to = devices[graph.producer[tensor]] if simulator.semantics.broadcast else reader
    order = np.argsort(keys)
    by = order[np.searchsorted(keys[order], whole * count + to)]
    rows = tensor, source[by], reader, *(column[by] for column in times), np.zeros_like(copied[by])
    columns = zip(transfers, rows, strict=True)
    return tuple(np.concatenate([old, new.astype(old.dtype)]) for old, new in columns)


def _named(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _span(about: dict[str, str], process: int, thread: int, start: Any, end: Any) -> dict[str, Any]:
    """A complete event; times in microseconds."""
    times = {"ts": float(start) / 1e3, "dur": float(end - start) / 1e3}
    return {"ph": "X", **about, "pid": process, "tid": thread, **times}
