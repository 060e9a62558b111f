"""The integer program for the latency of one sample (Tarnawski et al., NeurIPS 2020), for HiGHS.

Places: 0 is the CPUs, of which there are as many as wanted; then the calls of each accelerator in
the order in which they run. Big constants are the latency of a split already known.

The paper asks for the latency of inference. For training, which is ours, the calls of an
accelerator are doubled: the forward pass has the first half, the backward pass the second, and what
the first made stays on the accelerator for the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.errors import Unsupported
from suite.tarnawski.blocks import Blocks, blocks, contract
from suite.tarnawski.calls import calls
from suite.tarnawski.max_load import ranks, renumbered
from suite.tarnawski.milp import Program
from suite.tarnawski.starts import best_start, passes
from suite.tarnawski.workload import Claim, Floats, Question, Split, Workload

MOST_ROWS = 300_000
"""Rows of the largest program that is built: HiGHS takes some 2 GB and minutes to read it."""


@dataclass(frozen=True)
class Latency:
    """A program, the column to minimise, and which columns say where units are."""

    program: Program
    target: int
    at: Ints
    """int64[places, units]."""


@dataclass(frozen=True)
class Units:
    """What the program puts into calls: blocks within a pass, or single nodes."""

    blocks: Blocks
    colour: Ints
    """int64[units]: those of one colour share a device."""
    backward: NDArray[np.bool_]
    """bool[units]."""


def solve_latency(question: Question, per_accelerator: int) -> Claim:
    """Minimise latency with so many calls an accelerator.

    With more than one, half of the time goes to one call each, so that the answer is never worse.
    Unsupported without CPUs, when no split is known to start from, and when the program would be
    too large.
    """
    end, workload = monotonic() + question.seconds, question.workload
    single, slots = per_accelerator == 1, per_accelerator * passes(workload)
    check_size(workload, slots)
    half = replace(question, seconds=question.seconds / 2)
    names = ("cpu", *(["local_search"] if single else ["ip_contiguous"]))
    known = best_start(half, names, passes(workload))
    if known is None:
        raise Unsupported("no split is known that fits into memory; add CPUs or memory")
    units = _units(workload, single)
    model = latency(workload, units, slots, known[1])
    start = _start(model, workload, units, known[0], slots)
    left = end - monotonic()
    solved = model.program.minimise(model.target, question.gap, left, start, question.seed)
    split, value = known
    if solved.values is not None and solved.values[model.target] < value:
        split = calls(workload, _split(model, solved.values, workload, units.blocks, slots))
        value = float(solved.values[model.target])
    status = "optimal" if solved.optimal else "time limit"
    return Claim(split, status, value, min(max(solved.bound, 0.0), value))


def check_size(workload: Workload, slots: int) -> None:
    """Raise Unsupported for a program of more than MOST_ROWS rows, before memory fills."""
    rows = 2 * (len(workload.edges) + workload.nodes) * workload.accelerators * slots
    if rows > MOST_ROWS:
        raise Unsupported(
            f"the integer program would have {rows:,} rows, {MOST_ROWS:,} are allowed; use"
            " local_search or dpl"
        )


def _units(workload: Workload, single: bool) -> Units:
    """Blocks within a pass for one call each, else nodes."""
    if single:
        block = blocks(workload, True, False).of
        of = np.unique(2 * block + workload.backward, return_inverse=True)[1]
    else:
        block, of = workload.colour, np.arange(workload.nodes, dtype=np.int64)
    first = np.unique(of, return_index=True)[1]
    return Units(contract(workload, of), block[first], workload.backward[first])


def latency(workload: Workload, units: Units, slots: int, horizon: float) -> Latency:
    """The program for units on calls; no split of more than ``horizon`` ms is a solution.

    An accelerator has ``slots`` calls, for both passes together.
    """
    program, of, n = Program(), units.blocks.of, workload.nodes
    places = 1 + workload.accelerators * slots
    target = int(program.variables(1, upper=horizon * (1 + 1e-9))[0])
    at = program.variables(places, units.blocks.count, upper=1.0, integer=True)
    done = program.variables(n)
    start, finish = program.variables(places), program.variables(places)
    for unit in range(units.blocks.count):
        program.sum_is(1.0, at[:, unit])
    if not workload.cpus:
        program.forbid(at[0])
    _one_accelerator(program, workload, units, at, slots)
    program.most(0.0, [(done, 1.0), (target, -1.0)])
    program.most(0.0, [(at[0, of], workload.cpu), (done, -1.0)])
    u, v = workload.edges.T
    program.most(0.0, [(done[u], 1.0), (at[0, of[v]], workload.cpu[v]), (done[v], -1.0)])
    for place in range(1, places):
        slot = (place - 1) % slots
        if slot:
            program.most(0.0, [(finish[place - 1], 1.0), (start[place], -1.0)])
        ends = (int(start[place]), int(finish[place]))
        program.most(0.0, [(ends[1], 1.0), (target, -1.0)])
        mine = at[place - slot : place - slot + slots]
        _call(program, workload, units.blocks, (mine, slot), done, ends, horizon)
    return Latency(program, target, at)


def _one_accelerator(
    program: Program, workload: Workload, units: Units, at: Ints, slots: int
) -> None:
    """Memory, colour classes, passes, and that accelerators are alike (max_load.scattered)."""
    parts, half = units.blocks, slots // passes(workload)
    # A colour is ranked by its longest unit: its units share a device.
    order, first = ranks(parts), dict[int, int]()
    for unit in order.tolist():
        first.setdefault(int(units.colour[unit]), unit)
    leader = np.array([first[int(c)] for c in units.colour])
    rank = np.argsort(order)[leader]
    apart = np.flatnonzero(leader != np.arange(parts.count))
    program.equal(at[:1, apart], at[:1, leader[apart]])
    for accelerator in range(workload.accelerators):
        low = 1 + accelerator * slots
        mine = at[low : low + slots]
        program.sum_most(workload.memory, [(mine, np.tile(parts.size, (slots, 1)))])
        program.equal(mine[:, apart], mine[:, leader[apart]])
        program.forbid(mine[:, rank < accelerator])
        program.forbid(mine[:, ~np.isfinite(parts.accelerator)])
        program.forbid(mine[:half, units.backward])
        if half < slots:
            program.forbid(mine[half:, ~units.backward])


def _call(
    program: Program,
    workload: Workload,
    units: Blocks,
    call: tuple[Ints, int],
    done: Ints,
    ends: tuple[int, int],
    horizon: float,
) -> None:
    """One call: it waits for all its inputs, and all its nodes are done when it ends.

    ``call`` is the columns of all calls of its accelerator, and which of them it is.
    """
    (mine, slot), of, (start, finish) = call, units.of, ends
    on, half = mine[slot], len(mine) // passes(workload)
    coming = program.variables(workload.nodes, upper=1.0)
    going = program.variables(workload.nodes, upper=1.0)
    edges = workload.edges[of[workload.edges[:, 0]] != of[workload.edges[:, 1]]]
    stays = workload.backward[edges[:, 1]] & ~workload.backward[edges[:, 0]]
    for (u, v), passed in ((edges[~stays].T, False), (edges[stays].T, True)):
        # What a forward call made need not move for the backward calls of its accelerator.
        others = [(row, -1.0) for row in (mine[:half] if slot >= half else mine[half:])]
        before = [(row[of[u]], sign) for row, sign in others if passed and slot >= half]
        after = [(row[of[v]], sign) for row, sign in others if passed and slot < half]
        program.most(0.0, [(on[of[v]], 1.0), (on[of[u]], -1.0), *before, (coming[u], -1.0)])
        program.most(0.0, [(on[of[u]], 1.0), (on[of[v]], -1.0), *after, (going[u], -1.0)])
    makers = np.unique(edges[:, 0])
    program.most(horizon, [(done[makers], 1.0), (coming[makers], horizon), (start, -1.0)])
    program.most(horizon, [(finish, 1.0), (on[of], horizon), (done, -1.0)])
    times = np.where(np.isfinite(units.accelerator), units.accelerator, 0.0)
    moves = [(coming, workload.cost), (going, workload.cost)]
    program.sum_most(0.0, [(start, 1.0), (on, times), *moves, (finish, -1.0)])


def _start(
    model: Latency, workload: Workload, units: Units, split: Split, slots: int
) -> dict[int, float]:
    """Integer columns of a known split with at most one call an accelerator and pass."""
    parts = units.blocks
    device = np.zeros(parts.count, np.int64)
    device[parts.of] = np.minimum(split.device, workload.accelerators)
    order = ranks(parts)
    device[:] = renumbered(device, order, workload.accelerators)
    slot = units.backward * (slots // 2)
    on_cpu = device >= workload.accelerators
    place = np.where(on_cpu, 0, 1 + device * slots + slot)
    start = {int(c): 0.0 for c in model.at.ravel()}
    return start | {int(c): 1.0 for c in model.at[place, np.arange(parts.count)]}


def _split(model: Latency, values: Floats, workload: Workload, units: Blocks, slots: int) -> Split:
    place = np.argmax(values[model.at], axis=0)[units.of] - 1
    device = np.where(place < 0, workload.accelerators, place // slots)
    return Split(device, np.where(place < 0, 0, place % slots))
