"""The integer program over contiguous splits, by HiGHS."""

from __future__ import annotations

from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from time import monotonic

import numpy as np

from suite.core.errors import Unsupported
from suite.tarnawski.blocks import Blocks, blocks
from suite.tarnawski.latency import solve_latency
from suite.tarnawski.line import linearised
from suite.tarnawski.max_load import MaxLoad, in_line
from suite.tarnawski.starts import best_start
from suite.tarnawski.workload import Claim, Floats, Question, Split

OBJECTIVES = ("throughput", "latency")
STARTS = ("local_search", "greedy", "pipedream")
"""Beside DPL. Their answers count where they are contiguous."""


def solve(question: Question) -> Claim:
    """Split contiguously; for latency, each accelerator is called once.

    Starts from the best contiguous split that others find, as long as that takes, and so is never
    worse than DPL. Unsupported when there is no such split, or none was found in time.
    """
    if question.objective == "latency":
        return solve_latency(question, 1)
    end, workload = monotonic() + question.seconds, question.workload
    parts = blocks(workload, contiguous=True)
    model = in_line(workload, parts)
    known = linearised(workload, parts)[1]
    device, value = known.device, known.objective

    def allowed(split: Split) -> bool:
        return _contiguous(parts, split, workload.accelerators + workload.cpus)

    half = replace(question, seconds=question.seconds / 2)
    other = best_start(half, STARTS, allowed=allowed)
    if other is not None and other[1] < value:
        device, value = _of_blocks(parts, other[0]), other[1]
    start = _start(parts, model, device, workload.accelerators)
    solved = model.program.minimise(
        model.target, question.gap, end - monotonic(), start, question.seed
    )
    if solved.values is not None and solved.values[model.target] < value:
        device = _devices(model, solved.values, workload.accelerators)
        value = float(solved.values[model.target])
    if device.min() < 0:
        reason = "exists" if solved.infeasible else f"was found in {question.seconds:g} s"
        raise Unsupported(f"no contiguous split {reason}")
    status, bound = "optimal" if solved.optimal else "time limit", max(solved.bound, 0.0)
    return Claim(parts.split(device), status, value, min(bound, value), contiguous=True)


def _of_blocks(parts: Blocks, split: Split) -> np.ndarray:
    """int64[blocks]: the device of each block's last node, that of all where they agree."""
    device = np.empty(parts.count, np.int64)
    device[parts.of] = split.device
    return device


def _contiguous(parts: Blocks, split: Split, devices: int) -> bool:
    """Whether a split keeps blocks whole and its devices can stand in a line."""
    device = _of_blocks(parts, split)
    try:
        _line(parts, device, devices)
    except CycleError:
        return False
    return bool(np.array_equal(device[parts.of], split.device))


def _start(
    parts: Blocks, model: MaxLoad, device: Floats | np.ndarray, accelerators: int
) -> dict[int, float]:
    """Integer columns of a known line of devices; empty when there is none."""
    assert model.slow is not None
    assert model.is_cpu is not None
    if device.min() < 0:
        return {}
    line = _line(parts, device, len(model.is_cpu))
    start = {int(c): 0.0 for c in np.concatenate([model.on.ravel(), model.slow.ravel()])}
    for stage, d in enumerate(line):
        columns = model.slow if d >= accelerators else model.on
        start |= {int(c): 1.0 for c in columns[stage, device == d]}
        start[int(model.is_cpu[stage])] = float(d >= accelerators)
    return start


def _line(parts: Blocks, device: np.ndarray, devices: int) -> list[int]:
    """Devices in an order that all edges follow; CycleError where there is none."""
    before: dict[int, set[int]] = {d: set() for d in range(devices)}
    for a, b in device[parts.edges].tolist():
        if a != b:
            before[b].add(a)
    return list(TopologicalSorter(before).static_order())


def _devices(model: MaxLoad, values: Floats, accelerators: int) -> np.ndarray:
    """Devices of blocks, the stages numbered within their kind."""
    assert model.slow is not None
    assert model.is_cpu is not None
    cpu = values[model.is_cpu] > 0.5
    number = np.where(cpu, accelerators + np.cumsum(cpu) - 1, np.cumsum(~cpu) - 1)
    stage = np.argmax(values[model.on] + values[model.slow], axis=0)
    return np.asarray(number[stage])
