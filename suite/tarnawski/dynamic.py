"""Dynamic programming over ideals for the largest load (Tarnawski et al., NeurIPS 2020, section 5).

best[ideal, k, l] is the least largest load of k accelerators and l CPUs that hold an ideal. For
each ideal a depth-first walk removes maximal blocks one by one and so meets every smaller ideal
once, with the load of what was removed updated in place. Time only grows along a walk, so a walk
ends where it passes the largest load of a split already known.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.compilation import inline, kernel
from suite.core.errors import Unsupported
from suite.tarnawski.blocks import Blocks
from suite.tarnawski.ideals import Ideals
from suite.tarnawski.workload import Workload

MAX_BYTES = 150_000_000
"""Memory that the tables of the dynamic programme may take."""
CHUNK = 64
"""Ideals between two looks at the clock."""


@dataclass(frozen=True)
class Best:
    """The best line of devices."""

    objective: float
    """ms; infinite when there is none below the ceiling."""
    device: Ints
    """int64[blocks]; -1 everywhere when there is none."""
    whole: bool
    """False when the time was up first."""


def check_memory(ideals: int, workload: Workload) -> None:
    """Raise Unsupported when the tables would take more than MAX_BYTES."""
    states = (workload.accelerators + 1) * (workload.cpus + 1)
    if 12 * ideals * states > MAX_BYTES:
        raise Unsupported(
            f"{ideals:,} ideals x {states} states need {12 * ideals * states / 1e6:.0f} MB of the "
            f"{MAX_BYTES / 1e6:.0f} MB allowed; use dpl or ip"
        )


def best_line(
    workload: Workload, blocks: Blocks, ideals: Ideals, ceiling: float, seconds: float
) -> Best:
    """Find the best line of devices with a largest load of at most ``ceiling`` ms.

    Stops after ``seconds``. Raises Unsupported when it would take too much memory.
    """
    check_memory(ideals.count, workload)
    end = time.monotonic() + seconds
    shape = (ideals.count, workload.accelerators + 1, workload.cpus + 1)
    best = np.full(shape, np.inf)
    best[0] = 0.0
    source = np.full(shape, -1, np.int32)
    touched, pins, width, cost = by_block(blocks)
    stamps = np.full(ideals.count, -1, np.int32)
    memory, most = workload.memory * (1 + 1e-9), ceiling * (1 + 1e-9)
    for first in range(1, ideals.count, CHUNK):
        if first > 1 and time.monotonic() > end:
            return Best(np.inf, np.full(blocks.count, -1, np.int64), False)
        last = min(first + CHUNK, ideals.count)
        _sweep(
            first,
            last,
            ideals.offsets,
            ideals.block,
            ideals.smaller,
            blocks.accelerator,
            blocks.cpu,
            blocks.size,
            touched,
            pins,
            width,
            cost,
            memory,
            most,
            best,
            source,
            stamps,
        )
    return Best(float(best[-1, -1, -1]), _trace(workload, blocks, ideals, best, source), True)


def by_block(blocks: Blocks) -> tuple[Ints, Ints, Ints, Floats]:
    """Outputs that touch each block: offsets, outputs; touched blocks and cost of each output."""
    lists: list[list[int]] = [[] for _ in range(blocks.count)]
    for output, pins in enumerate(blocks.outputs):
        for block in pins:
            lists[block].append(output)
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    flat = np.array([output for x in lists for output in x], np.int32)
    return offsets, flat, np.array([len(p) for p in blocks.outputs], np.int32), blocks.costs


@kernel
def _sweep(
    first: int,
    last: int,
    offsets: Ints,
    step_block: Ints,
    step_smaller: Ints,
    accelerator: Floats,
    cpu: Floats,
    size: Floats,
    pin_offsets: Ints,
    pins: Ints,
    width: Ints,
    cost: Floats,
    memory: float,
    ceiling: float,
    best: Floats,
    source: Ints,
    stamps: Ints,
) -> None:
    """Fill the rows ``first`` to ``last - 1`` of ``best`` and ``source``."""
    n = len(accelerator) + 1
    at, step, by = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    fast, slow, bytes_, moved = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    inside = np.zeros(len(width), np.int32)
    for ideal in range(first, last):
        depth = 0
        at[0], step[0] = ideal, offsets[ideal]
        while depth >= 0:
            if step[depth] == offsets[at[depth] + 1]:
                if depth > 0:
                    for p in range(pin_offsets[by[depth]], pin_offsets[by[depth] + 1]):
                        inside[pins[p]] -= 1
                depth -= 1
                continue
            smaller, block = step_smaller[step[depth]], step_block[step[depth]]
            step[depth] += 1
            if stamps[smaller] == ideal:
                continue
            stamps[smaller] = ideal
            bytes_[depth + 1] = bytes_[depth] + size[block]
            fast[depth + 1] = fast[depth] + accelerator[block]
            if bytes_[depth + 1] > memory:
                fast[depth + 1] = np.inf
            slow[depth + 1] = slow[depth] + cpu[block]
            if fast[depth + 1] > ceiling and slow[depth + 1] > ceiling:
                continue
            crossing = moved[depth]
            for p in range(pin_offsets[block], pin_offsets[block + 1]):
                output = pins[p]
                inside[output] += 1
                # A set of blocks pays for an output when it holds some, not all of its ends.
                if inside[output] == 1:
                    crossing += cost[output]
                elif inside[output] == width[output]:
                    crossing -= cost[output]
            depth += 1
            moved[depth], at[depth], by[depth] = crossing, smaller, block
            step[depth] = offsets[smaller]
            _relax(best, source, ideal, smaller, fast[depth] + crossing, slow[depth], ceiling)
        # A device may stay empty.
        for k in range(best.shape[1]):
            for c in range(best.shape[2]):
                if k > 0 and best[ideal, k - 1, c] < best[ideal, k, c]:
                    best[ideal, k, c], source[ideal, k, c] = best[ideal, k - 1, c], 2 * ideal
                if c > 0 and best[ideal, k, c - 1] < best[ideal, k, c]:
                    best[ideal, k, c], source[ideal, k, c] = best[ideal, k, c - 1], 2 * ideal + 1


@inline
def _relax(
    best: Floats, source: Ints, ideal: int, smaller: int, load: float, slow: float, ceiling: float
) -> None:
    """Give what was removed to one more accelerator, or to one more CPU."""
    if load <= ceiling:
        for k in range(1, best.shape[1]):
            for c in range(best.shape[2]):
                value = max(best[smaller, k - 1, c], load)
                if value < best[ideal, k, c]:
                    best[ideal, k, c], source[ideal, k, c] = value, 2 * smaller
    if slow <= ceiling:
        for k in range(best.shape[1]):
            for c in range(1, best.shape[2]):
                value = max(best[smaller, k, c - 1], slow)
                if value < best[ideal, k, c]:
                    best[ideal, k, c], source[ideal, k, c] = value, 2 * smaller + 1


def _trace(workload: Workload, blocks: Blocks, ideals: Ideals, best: Floats, source: Ints) -> Ints:
    """Devices of the best line, read backwards."""
    device = np.full(blocks.count, -1, np.int64)
    ideal, k, c = ideals.count - 1, workload.accelerators, workload.cpus
    while ideal > 0 and np.isfinite(best[ideal, k, c]):
        smaller, on_cpu = divmod(int(source[ideal, k, c]), 2)
        removed = ideals.members(ideal, blocks.count) & ~ideals.members(smaller, blocks.count)
        k, c = (k, c - 1) if on_cpu else (k - 1, c)
        device[removed] = workload.accelerators + c if on_cpu else k
        ideal = smaller
    return device
