"""Integer programs for the largest load (Tarnawski et al., NeurIPS 2020), for HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suite.core.arrays import Ints
from suite.tarnawski.blocks import Blocks
from suite.tarnawski.milp import Program
from suite.tarnawski.workload import Workload


@dataclass(frozen=True)
class MaxLoad:
    """A program, the column to minimise, and which columns say where blocks are."""

    program: Program
    target: int
    on: Ints
    """int64[devices or stages, blocks]: on an accelerator; with CPUs following when free."""
    slow: Ints | None = None
    """int64[stages, blocks]: on a CPU (contiguous only)."""
    is_cpu: Ints | None = None
    """int64[stages]: the stage is a CPU (contiguous only)."""


def scattered(workload: Workload, parts: Blocks) -> MaxLoad:
    """Any split. Accelerators are alike, so block j may use the first j + 1 only, and so CPUs.

    Blocks are taken from the longest to the shortest: ``ranks``.
    """
    program, k = Program(), workload.accelerators
    target = int(program.variables(1)[0])
    on = program.variables(workload.devices, parts.count, upper=1.0, integer=True)
    for block in range(parts.count):
        program.sum_is(1.0, on[:, block])
    for rank, block in enumerate(ranks(parts)):
        program.forbid(on[min(rank + 1, k) : k, block])
        program.forbid(on[k + rank + 1 :, block])
    for device in range(workload.devices):
        if device < k:
            _accelerator(program, workload, parts, target, on[device])
        else:
            program.sum_most(0.0, [(on[device], parts.cpu), (target, -1.0)])
    return MaxLoad(program, target, on)


def ranks(parts: Blocks) -> Ints:
    """Blocks from the longest to the shortest."""
    return np.argsort(-np.minimum(parts.accelerator, parts.cpu), kind="stable")


def in_line(workload: Workload, parts: Blocks) -> MaxLoad:
    """Contiguous splits: stages in a line along which all edges run, each an accelerator or a CPU.

    The order of the stages breaks the symmetry between accelerators. One stage is one device, so
    that no two devices can wait for each other (the authors' program lets them).
    """
    program, stages, n = Program(), workload.devices, parts.count
    target = int(program.variables(1)[0])
    on = program.variables(stages, n, upper=1.0, integer=True)
    slow = program.variables(stages, n, upper=1.0, integer=True)
    is_cpu = program.variables(stages, upper=1.0, integer=True)
    program.sum_is(float(workload.cpus), is_cpu)
    for block in range(n):
        program.sum_is(1.0, [on[:, block], slow[:, block]])
    before, after = parts.edges[:, 0], parts.edges[:, 1]
    for stage in range(stages):
        program.most(0.0, [(slow[stage], 1.0), (is_cpu[stage], -1.0)])
        program.most(1.0, [(on[stage], 1.0), (is_cpu[stage], 1.0)])
        done: list[tuple[Any, float]] = []
        for s in range(stage + 1):
            done += [(on[s, after], 1.0), (slow[s, after], 1.0)]
            done += [(on[s, before], -1.0), (slow[s, before], -1.0)]
        if len(parts.edges):
            program.most(0.0, done)
        _accelerator(program, workload, parts, target, on[stage])
        program.sum_most(0.0, [(slow[stage], parts.cpu), (target, -1.0)])
    return MaxLoad(program, target, on, slow, is_cpu)


def _accelerator(
    program: Program, workload: Workload, parts: Blocks, target: int, on: Ints
) -> None:
    """Load and memory of one accelerator that holds the blocks ``on`` (int64[blocks])."""
    supported = np.isfinite(parts.accelerator)
    program.forbid(on[~supported])
    program.sum_most(workload.memory, [(on, parts.size)])
    coming = program.variables(len(parts.outputs), upper=1.0)
    going = program.variables(len(parts.outputs), upper=1.0)
    ends = [(o, pins[0], v) for o, pins in enumerate(parts.outputs) for v in pins[1:]]
    if ends:
        output, maker, reader = np.array(ends).T
        program.most(0.0, [(on[reader], 1.0), (on[maker], -1.0), (coming[output], -1.0)])
        program.most(0.0, [(on[maker], 1.0), (on[reader], -1.0), (going[output], -1.0)])
    times = np.where(supported, parts.accelerator, 0.0)
    moves = [(coming, parts.costs), (going, parts.costs)]
    program.sum_most(0.0, [(on, times), *moves, (target, -1.0)])


def renumbered(device: Ints, order: Ints, accelerators: int) -> Ints:
    """The same split with devices numbered as blocks in ``order`` first use them, by kind."""
    first: dict[int, int] = {}
    counts = [0, 0]
    for d in device[order].tolist():
        kind = int(d >= accelerators)
        if d not in first:
            first[d] = accelerators * kind + counts[kind]
            counts[kind] += 1
    return np.array([first[d] for d in device.tolist()], np.int64)
