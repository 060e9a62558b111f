"""Local search by single moves, for the largest load with ten restarts.

Each time the best move of any block to any device. Tarnawski et al.'s knows accelerators alone and
ignores memory; here CPUs count and memory binds. Where no move lowers the largest load, one that
leaves it as it is and lowers the sum of all loads is made, too.
"""

from __future__ import annotations

from math import inf

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.compilation import kernel
from suite.core.errors import Unsupported
from suite.tarnawski.blocks import Blocks, blocks
from suite.tarnawski.latency_search import search_latency
from suite.tarnawski.workload import Claim, Question, Workload

OBJECTIVES = ("throughput", "latency")
RESTARTS = 10
"""As in Tarnawski et al."""


def solve(question: Question) -> Claim:
    """Best of the restarts from random splits; for latency, from the fast algorithms' best.

    Unsupported where no random split fits into memory.
    """
    if question.objective == "latency":
        return search_latency(question)
    workload = question.workload
    parts = blocks(workload, contiguous=False)
    rng = np.random.default_rng(question.seed)
    best, least = None, inf
    for _ in range(RESTARTS):
        device = _random(workload, parts, rng)
        if device is None:
            continue
        found = _descend(device, *_arrays(workload, parts), workload.accelerators)
        if found < least:
            best, least = device, found
    if best is None:
        raise Unsupported("no random split fits into memory, and there is no CPU")
    return Claim(parts.split(best), "feasible", float(least))


def _random(workload: Workload, parts: Blocks, rng: np.random.Generator) -> Ints | None:
    """Each block on any device that supports it and has room for it; None where one has none."""
    left = np.full(workload.devices, inf)
    left[: workload.accelerators] = workload.memory
    device = np.empty(parts.count, np.int64)
    for block in np.argsort(-parts.size, kind="stable"):
        fits = np.flatnonzero(left >= parts.size[block])
        if not np.isfinite(parts.accelerator[block]):
            fits = fits[fits >= workload.accelerators]
        if not len(fits):
            return None
        device[block] = rng.choice(fits)
        left[device[block]] -= parts.size[block]
    return device


def _arrays(
    workload: Workload, parts: Blocks
) -> tuple[Floats, Floats, Floats, Ints, Ints, Ints, Floats]:
    from suite.tarnawski.dynamic import by_block

    times = np.empty((parts.count, workload.devices))
    times[:, : workload.accelerators] = parts.accelerator[:, None]
    times[:, workload.accelerators :] = parts.cpu[:, None]
    memory = np.full(workload.devices, inf)
    memory[: workload.accelerators] = workload.memory
    return times, parts.size, memory, *by_block(parts)


@kernel
def _descend(
    device: Ints,
    times: Floats,
    size: Floats,
    memory: Floats,
    offsets: Ints,
    pins: Ints,
    width: Ints,
    cost: Floats,
    accelerators: int,
) -> float:
    """Move blocks (``device`` changes) until no move helps."""
    blocks, devices = times.shape
    count = np.zeros((len(width), devices), np.int64)
    load, used = np.zeros(devices), np.zeros(devices)
    for b in range(blocks):
        load[device[b]] += times[b, device[b]]
        used[device[b]] += size[b]
        for p in range(offsets[b], offsets[b + 1]):
            count[pins[p], device[b]] += 1
    for o in range(len(width)):
        for d in range(accelerators):
            if 0 < count[o, d] < width[o]:
                load[d] += cost[o]
    while True:
        top, total = load.max(), load.sum()
        chosen, target, best_top, best_total = -1, -1, top, total
        for b in range(blocks):
            source = device[b]
            for d in range(devices):
                if d == source or used[d] + size[b] > memory[d]:
                    continue
                off, on = -times[b, source], times[b, d]
                for p in range(offsets[b], offsets[b + 1]):
                    o = pins[p]
                    if source < accelerators:
                        off += cost[o] * _change(count[o, source], -1, width[o])
                    if d < accelerators:
                        on += cost[o] * _change(count[o, d], 1, width[o])
                highest = max(load[source] + off, load[d] + on)
                for e in range(devices):
                    if e not in (source, d):
                        highest = max(highest, load[e])
                after = total + off + on
                lower = highest < best_top - 1e-9 * top
                even = highest <= best_top and after < best_total - 1e-9 * total
                if lower or even:
                    chosen, target, best_top, best_total = b, d, highest, after
        if chosen < 0:
            return float(top)
        source = device[chosen]
        for p in range(offsets[chosen], offsets[chosen + 1]):
            o = pins[p]
            if source < accelerators:
                load[source] += cost[o] * _change(count[o, source], -1, width[o])
            if target < accelerators:
                load[target] += cost[o] * _change(count[o, target], 1, width[o])
            count[o, source] -= 1
            count[o, target] += 1
        load[source] -= times[chosen, source]
        load[target] += times[chosen, target]
        used[source] -= size[chosen]
        used[target] += size[chosen]
        device[chosen] = target


@kernel
def _change(held: int, step: int, width: int) -> int:
    """By how much the number of cuts of an output changes when a device gets or loses an end."""
    return int(0 < held + step < width) - int(0 < held < width)
