"""The cost model of Tarnawski et al., written once more and apart from every algorithm.

Nothing here is shared with the algorithms, so that a wrong claim is seen.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import numpy as np

from suite.core.errors import InputError
from suite.tarnawski.workload import Split, Workload

Call = tuple[int, int]
"""An accelerator's call (device, stage), or (-1, node) for a node on a CPU."""


class WrongClaim(RuntimeError):
    """An algorithm's answer is not what it says it is."""


@dataclass(frozen=True)
class Score:
    """What a split costs."""

    objective: float
    """ms: largest load, or latency of one sample."""
    oom: tuple[int, ...]
    """Accelerators whose nodes take more than their memory."""
    loads: tuple[float, ...]
    """ms per device, accelerators first."""


def score(workload: Workload, split: Split, objective: str) -> Score:
    """Score a split; InputError when nodes are misplaced or classes torn apart.

    A split for latency whose calls wait for each other is an InputError too.
    """
    _check(workload, split)
    loads = tuple(_load(workload, split, device) for device in range(workload.devices))
    sizes: dict[int, float] = defaultdict(float)
    for device, size in zip(split.device.tolist(), workload.size.tolist(), strict=True):
        sizes[device] += size
    full = (1 + 1e-9) * workload.memory
    oom = tuple(d for d in range(workload.accelerators) if sizes[d] > full)
    value = max(loads) if objective == "throughput" else _latency(workload, split)
    return Score(value, oom, loads)


def _check(workload: Workload, split: Split) -> None:
    colours: dict[int, int] = {}
    for node, device in enumerate(split.device.tolist()):
        if not 0 <= device < workload.devices:
            raise InputError(f"node {workload.ids[node]} is on device {device}, which is not there")
        if device < workload.accelerators and workload.accelerator[node] == float("inf"):
            raise InputError(f"node {workload.ids[node]} is not supported on an accelerator")
        if colours.setdefault(int(workload.colour[node]), device) != device:
            raise InputError(f"node {workload.ids[node]} is apart from others of its colour class")


def _load(workload: Workload, split: Split, device: int) -> float:
    """Throughput: times of its nodes, on accelerators plus each crossing output once."""
    mine = split.device == device
    if device >= workload.accelerators:
        return float(workload.cpu[mine].sum())
    u, v = workload.edges.T
    crossing = np.unique(u[mine[u] != mine[v]])
    return float(workload.accelerator[mine].sum()) + float(workload.cost[crossing].sum())


def _latency(workload: Workload, split: Split) -> float:
    """Every accelerator call starts when its inputs are there and blocks until its outputs are."""
    calls = [_call(workload, split, node) for node in range(workload.nodes)]
    number = {call: i for i, call in enumerate(dict.fromkeys(calls))}
    of = np.array([number[call] for call in calls])
    apart = workload.edges[of[workload.edges[:, 0]] != of[workload.edges[:, 1]]].tolist()
    duration, before = _durations(workload, calls, apart), _before(calls, apart)
    finish: dict[Call, float] = {}
    try:
        for call in TopologicalSorter(before).static_order():
            start = max((finish[other] for other in before[call]), default=0.0)
            finish[call] = start + duration[call]
    except CycleError:
        raise InputError("two accelerator calls wait for each other; cut them apart") from None
    return max(finish.values())


def _call(workload: Workload, split: Split, node: int) -> Call:
    device = int(split.device[node])
    return (device, int(split.stage[node])) if device < workload.accelerators else (-1, node)


def _durations(workload: Workload, calls: list[Call], apart: list[list[int]]) -> dict[Call, float]:
    """Compute, what comes in and what goes out.

    What a forward call made stays on its accelerator for the backward calls there.
    """
    duration: dict[Call, float] = defaultdict(float)
    for node, call in enumerate(calls):
        times = workload.cpu if call[0] < 0 else workload.accelerator
        duration[call] += float(times[node])
    moves: set[tuple[int, Call]] = set()
    for u, v in apart:
        kept = calls[u][0] == calls[v][0] and workload.backward[v] and not workload.backward[u]
        if not kept:
            moves |= {(u, end) for end in (calls[u], calls[v]) if end[0] >= 0}
    for u, call in sorted(moves):
        duration[call] += float(workload.cost[u])
    return duration


def _before(calls: list[Call], apart: list[list[int]]) -> dict[Call, set[Call]]:
    before: dict[Call, set[Call]] = {call: set() for call in calls}
    for u, v in apart:
        before[calls[v]].add(calls[u])
    accelerator = sorted({call for call in calls if call[0] >= 0})
    for first, second in pairwise(accelerator):
        if first[0] == second[0]:
            before[second].add(first)
    return before


def contiguous(workload: Workload, split: Split) -> bool:
    """Whether devices can be put in a line along which all forward edges run."""
    before: dict[int, set[int]] = defaultdict(set)
    for u, v in workload.edges.tolist():
        a, b = int(split.device[u]), int(split.device[v])
        if a != b and not workload.backward[u] and not workload.backward[v]:
            before[b].add(a)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        return False
    return True
