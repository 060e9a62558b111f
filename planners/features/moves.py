"""What a change of a placement would do at first sight, all else staying as it is.

A placement that has been simulated is known to the nanosecond: when each operation ran, how long it
could have waited without delaying the step (its slack), what its device was doing. From that, much
can be said of a neighbouring placement without simulating it: how loads shift, which transfers
appear and whether there was time for them, which waits on the critical path end. None of it depends
on a graph's size or names, or on the number or order of devices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.moves import Grouping
from baselines.partitioning.class_graph import mean_transfer
from suite.core.arrays import Floats, Ints
from suite.core.compilation import inline, kernel
from suite.core.problem import Problem
from suite.simulator.timeline import Timeline

FEATURES = (
    "operations that move, as a share",
    "operations that move, as a logarithm",
    "time of what moves, where it goes",
    "time of what moves, less what it took",
    "time of the busiest device now",
    "time of the busiest device then",
    "time of the busiest device, change",
    "change of the sum of squared times",
    # Where a device runs several operations at once, an estimate: it takes them to run in turn.
    "work at moments when the device has other work",
    "transfers that appear",
    "transfers that end",
    "transfers, change",
    "transfers that appear, beyond the slack there is for them",
    "the largest of these",
    "transfers that end and had no slack",
    "transfers that appear, as a logarithm",
    "transfers that end, as a logarithm",
    "what moves on the critical path: time that is saved",
    "waits on the critical path for operations that are elsewhere then",
    "one over the devices",
    "all transfers now",
    "critical operations now",
    "memory that the fullest device lacks, as a share of it",
    "bytes that the fullest device gains, as a share of it",
    "memory that some device might lack then, as a share of it",
)
"""Of each change; times are shares of the step time, and a transfer counts for every reader."""
SLOTS = 32
"""Equal parts of a step, in which the work of each device is counted."""


class Near(NamedTuple):
    """A problem's operations and tensors, as the kernels read them; times are nanoseconds."""

    op_offsets: NDArray[np.int64]
    ops: NDArray[np.int64]
    """The operations of each class."""
    class_of: NDArray[np.int64]
    duration: Floats
    """float64[ops, devices]."""
    in_offsets: NDArray[np.int64]
    in_tensors: NDArray[np.int64]
    out_offsets: NDArray[np.int64]
    out_tensors: NDArray[np.int64]
    """What each operation reads and makes."""
    producer: NDArray[np.int64]
    reader_offsets: NDArray[np.int64]
    readers: NDArray[np.int64]
    """Who makes and who reads each tensor."""
    transfer: Floats
    """float64[tensors]: to send it, on average over the links."""
    size: Floats
    """float64[ops]: bytes of variables and outputs."""
    memory: Floats
    """float64[devices]: bytes."""


class Step(NamedTuple):
    """A simulated step; times are nanoseconds."""

    devices: NDArray[np.int64]
    """int64[n_classes]."""
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    slack: NDArray[np.int64]
    """int64[ops]: how much later each could have ended."""
    previous: NDArray[np.int64]
    """int64[ops]: what its device did before, -1 for nothing."""
    loads: Floats
    """float64[devices]."""
    work: Floats
    """float64[devices, SLOTS]: what a device computes in each part of the step."""
    peak: Floats
    """float64[devices]: bytes."""
    length: float
    """Of the step."""
    sent: float
    """All transfers, one after the other, once for every operation that reads what is sent."""
    critical: float
    """All operations without slack."""


class Surroundings:
    """Judges changes of one problem's placements at first sight."""

    def __init__(self, problem: Problem) -> None:
        """Look up who reads what."""
        graph, machine = problem.graph, problem.machine
        self.count = machine.n_devices
        classes = Grouping.of(graph.colocation.astype(np.int64))
        (in_offsets, in_tensors), (out_offsets, out_tensors) = graph.inputs, graph.outputs
        made = np.bincount(graph.producer, graph.tensor_bytes, graph.n_ops)
        self.near = Near(
            op_offsets=classes.offsets,
            ops=classes.members,
            class_of=graph.colocation.astype(np.int64),
            # No move sends an operation where it has no kernel.
            duration=1e9 * np.where(np.isfinite(problem.seconds), problem.seconds, 0.0),
            in_offsets=in_offsets,
            in_tensors=in_tensors.astype(np.int64),
            out_offsets=out_offsets,
            out_tensors=out_tensors.astype(np.int64),
            producer=graph.producer.astype(np.int64),
            reader_offsets=graph.consumer_offsets.astype(np.int64),
            readers=graph.consumers.astype(np.int64),
            transfer=1e9 * mean_transfer(problem, np.arange(self.count)),
            size=np.asarray(made + graph.persistent_bytes, np.float64),
            memory=machine.memory.astype(np.float64),
        )

    def step(self, times: Timeline, devices: NDArray[np.int64]) -> Step:
        """What changes are compared with: a simulated placement, int64[n_classes] ``devices``."""
        previous = _previous(times)
        keys = times.tensor.astype(np.int64) * self.count + times.target
        by_key, by_start = np.argsort(keys), np.lexsort((times.end, times.start))
        arrivals = keys[by_key], times.arrived[by_key]
        slack, sent = _slack(
            self.near, devices, by_start, times.start, times.end, previous, *arrivals
        )
        length, spent = times.result.nanoseconds, (times.end - times.start).astype(np.float64)
        loads = np.bincount(devices[self.near.class_of], spent, self.count)
        return Step(
            devices=devices,
            start=times.start,
            end=times.end,
            slack=slack,
            previous=previous,
            loads=np.asarray(loads, np.float64),
            work=times.utilisation(SLOTS) * length / SLOTS,
            peak=times.result.peak_memory.astype(np.float64),
            length=float(max(1, length)),
            sent=sent,
            critical=float(spent[slack == 0].sum()),
        )

    def features(self, step: Step, rows: Ints) -> Floats:
        """float64[rows, FEATURES] of placements int[rows, n_classes], as changes of ``step``."""
        found = np.zeros((len(rows), len(FEATURES)))
        _features(self.near, step, np.asarray(rows, np.int64), found)
        return found


def _previous(times: Timeline) -> NDArray[np.int64]:
    """int64[ops]: what the device did just before each operation, -1 for nothing."""
    order = np.lexsort((times.end, times.start, times.devices))
    previous = np.full(len(order), -1, np.int64)
    here = times.devices[order]
    follows = here[1:] == here[:-1]
    previous[order[1:][follows]] = order[:-1][follows]
    return previous


@kernel
def _slack(
    near: Near,
    devices: NDArray[np.int64],
    order: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    previous: NDArray[np.int64],
    keys: NDArray[np.int64],
    arrived: NDArray[np.int64],
) -> tuple[NDArray[np.int64], float]:
    """Slack of each operation, int64[ops], if the order on devices stays; sum of transfers.

    ``order`` is that of the starts. A transfer takes what it took from the end of its operation to
    its arrival: ``arrived`` in the order of ``keys``, tensor * devices + target.
    """
    count = near.duration.shape[1]
    slack = np.full(len(start), end.max() if len(end) else 0, np.int64) - end
    sent = 0.0
    for op in order[::-1]:
        here = devices[near.class_of[op]]
        for k in range(near.out_offsets[op], near.out_offsets[op + 1]):
            tensor = near.out_tensors[k]
            for at in range(near.reader_offsets[tensor], near.reader_offsets[tensor + 1]):
                reader = near.readers[at]
                there = devices[near.class_of[reader]]
                came = end[op]
                if there != here:
                    sent += near.transfer[tensor]
                    found = np.searchsorted(keys, tensor * count + there)
                    if found < len(keys) and keys[found] == tensor * count + there:
                        came = arrived[found]
                slack[op] = min(slack[op], slack[reader] + start[reader] - came)
        before = previous[op]
        if before >= 0:
            slack[before] = min(slack[before], slack[op] + start[op] - end[before])
    return slack, sent


@kernel
def _features(near: Near, step: Step, rows: NDArray[np.int64], found: Floats) -> None:
    count = near.duration.shape[1]
    slot = step.length / SLOTS
    fullest = np.argmax(step.peak / near.memory)
    loads, work, gained = np.empty(count), np.empty((count, SLOTS)), np.empty(count)
    for row in range(len(rows)):
        then = rows[row]
        loads[:], work[:], gained[:] = step.loads, step.work, 0.0
        moved, moved_time, was_time, saved, waits = 0, 0.0, 0.0, 0.0, 0.0
        new, gone, late, latest, tight, news, ends = 0.0, 0.0, 0.0, 0.0, 0.0, 0, 0
        for c in range(len(then)):
            here, there = step.devices[c], then[c]
            if here == there:
                continue
            for k in range(near.op_offsets[c], near.op_offsets[c + 1]):
                op = near.ops[k]
                was, will = float(step.end[op] - step.start[op]), near.duration[op, there]
                moved += 1
                moved_time += will
                was_time += was
                loads[here] -= was
                loads[there] += will
                gained[here] -= near.size[op]
                gained[there] += near.size[op]
                _spread(work[here], step.start[op], was, slot, -1.0)
                _spread(work[there], step.start[op], will, slot, 1.0)
                before = step.previous[op]
                if step.slack[op] == 0:
                    saved += was - will
                    waited = before >= 0 and step.end[before] == step.start[op]
                    if waited and then[near.class_of[before]] != there:
                        waits += step.end[before] - step.start[before]
                for i in range(near.in_offsets[op], near.in_offsets[op + 1]):
                    tensor = near.in_tensors[i]
                    maker = near.producer[tensor]
                    other = near.class_of[maker]
                    was_apart = step.devices[other] != here
                    if was_apart == (then[other] != there):
                        continue
                    cost = near.transfer[tensor]
                    spare = step.slack[op] + step.start[op] - step.end[maker]
                    if was_apart:
                        gone += cost
                        ends += 1
                        tight += cost if spare <= cost else 0.0
                    else:
                        new += cost
                        news += 1
                        late += max(0.0, cost - spare)
                        latest = max(latest, cost - spare)
                for i in range(near.out_offsets[op], near.out_offsets[op + 1]):
                    tensor = near.out_tensors[i]
                    cost = near.transfer[tensor]
                    for at in range(near.reader_offsets[tensor], near.reader_offsets[tensor + 1]):
                        reader = near.readers[at]
                        other = near.class_of[reader]
                        # A reader that moves, too, has counted this edge or will.
                        if then[other] != step.devices[other]:
                            continue
                        was_apart = step.devices[other] != here
                        if was_apart == (then[other] != there):
                            continue
                        spare = step.slack[reader] + step.start[reader] - step.end[op]
                        if was_apart:
                            gone += cost
                            ends += 1
                            tight += cost if spare <= cost else 0.0
                        else:
                            new += cost
                            news += 1
                            late += max(0.0, cost - spare)
                            latest = max(latest, cost - spare)
        squares, crowd, lack = 0.0, 0.0, 0.0
        for d in range(count):
            squares += loads[d] ** 2 - step.loads[d] ** 2
            lack = max(lack, (step.peak[d] + gained[d]) / near.memory[d] - 1)
            for s in range(SLOTS):
                crowd += max(0.0, work[d, s] - slot)
        whole = step.length
        found[row, 0] = moved / len(step.start)
        found[row, 1] = np.log(1.0 + moved)
        found[row, 2] = moved_time / whole
        found[row, 3] = (moved_time - was_time) / whole
        found[row, 4] = step.loads.max() / whole
        found[row, 5] = loads.max() / whole
        found[row, 6] = (loads.max() - step.loads.max()) / whole
        found[row, 7] = squares / whole**2
        found[row, 8] = crowd / whole
        found[row, 9] = new / whole
        found[row, 10] = gone / whole
        found[row, 11] = (new - gone) / whole
        found[row, 12] = late / whole
        found[row, 13] = latest / whole
        found[row, 14] = tight / whole
        found[row, 15] = np.log(1.0 + news)
        found[row, 16] = np.log(1.0 + ends)
        found[row, 17] = saved / whole
        found[row, 18] = waits / whole
        found[row, 19] = 1.0 / count
        found[row, 20] = step.sent / whole
        found[row, 21] = step.critical / whole
        found[row, 22] = max(0.0, step.peak[fullest] / near.memory[fullest] - 1)
        found[row, 23] = gained[fullest] / near.memory[fullest]
        found[row, 24] = lack


@inline
def _spread(work: Floats, start: int, time: float, slot: float, sign: float) -> None:
    """Add a stretch of work to the slots that it falls into."""
    at, end = float(start), start + time
    s = int(at / slot)
    while at < end and s < SLOTS:
        until = min(end, (s + 1) * slot)
        work[s] += sign * (until - at)
        at = until
        s += 1
