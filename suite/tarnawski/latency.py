"""The integer program for the latency of one sample (Tarnawski et al., NeurIPS 2020), for HiGHS.

Places: 0 is the CPUs, of which there are as many as wanted; then the calls of each accelerator in
the order in which they run. Big constants are the latency of a split already known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import Unsupported
from suite.tarnawski.blocks import Blocks, blocks, contract
from suite.tarnawski.calls import calls
from suite.tarnawski.max_load import ranks, renumbered
from suite.tarnawski.milp import Program
from suite.tarnawski.starts import best_start
from suite.tarnawski.workload import Claim, Floats, Question, Split, Workload


@dataclass(frozen=True)
class Latency:
    """A program, the column to minimise, and which columns say where units are."""

    program: Program
    target: int
    at: Ints
    """int64[places, units]."""


def solve_latency(question: Question, per_accelerator: int) -> Claim:
    """Minimise latency with so many calls an accelerator.

    With more than one, half of the time goes to one call each, so that the answer is never worse.
    Unsupported without CPUs, for training, and when no split is known to start from.
    """
    end, workload = monotonic() + question.seconds, question.workload
    if workload.backward.any():
        raise Unsupported("latency is that of one sample of inference; this workload trains")
    single = per_accelerator == 1
    half = replace(question, seconds=question.seconds / 2)
    known = best_start(half, ("cpu", *(["local_search"] if single else ["ip_contiguous"])))
    if known is None:
        raise Unsupported("no split is known that fits into memory; add CPUs or memory")
    units = blocks(workload, True, False) if single else contract(workload, _nodes(workload))
    model = latency(workload, units, per_accelerator, known[1])
    start = _start(model, workload, units, known[0], per_accelerator)
    left = end - monotonic()
    solved = model.program.minimise(model.target, question.gap, left, start, question.seed)
    split, value = known
    if solved.values is not None and solved.values[model.target] < value:
        split = calls(workload, _split(model, solved.values, workload, units, per_accelerator))
        value = float(solved.values[model.target])
    status = "optimal" if solved.optimal else "time limit"
    return Claim(split, status, value, min(max(solved.bound, 0.0), value))


def _nodes(workload: Workload) -> Ints:
    return np.arange(workload.nodes, dtype=np.int64)


def latency(workload: Workload, units: Blocks, per_accelerator: int, horizon: float) -> Latency:
    """The program for units on calls; no split of more than ``horizon`` ms is a solution."""
    program, of, n = Program(), units.of, workload.nodes
    places = 1 + workload.accelerators * per_accelerator
    target = int(program.variables(1, upper=horizon * (1 + 1e-9))[0])
    at = program.variables(places, units.count, upper=1.0, integer=True)
    done = program.variables(n)
    start, finish = program.variables(places), program.variables(places)
    for unit in range(units.count):
        program.sum_is(1.0, at[:, unit])
    _one_accelerator(program, workload, units, at, per_accelerator)
    program.most(0.0, [(done, 1.0), (target, -1.0)])
    program.most(0.0, [(at[0, of], workload.cpu), (done, -1.0)])
    u, v = workload.edges.T
    program.most(0.0, [(done[u], 1.0), (at[0, of[v]], workload.cpu[v]), (done[v], -1.0)])
    for place in range(1, places):
        if (place - 1) % per_accelerator:
            program.most(0.0, [(finish[place - 1], 1.0), (start[place], -1.0)])
        ends = (int(start[place]), int(finish[place]))
        program.most(0.0, [(ends[1], 1.0), (target, -1.0)])
        _call(program, workload, units, at[place], done, ends, horizon)
    return Latency(program, target, at)


def _one_accelerator(
    program: Program, workload: Workload, units: Blocks, at: Ints, per_accelerator: int
) -> None:
    """Memory, colour classes, and that the accelerators are alike (max_load.scattered)."""
    rank = np.argsort(ranks(units))
    colour = np.zeros(units.count, np.int64)
    colour[units.of] = workload.colour
    first = {int(c): b for b, c in reversed(list(enumerate(colour)))}
    leader = np.array([first[int(c)] for c in colour])
    apart = np.flatnonzero(leader != np.arange(units.count))
    program.equal(at[:1, apart], at[:1, leader[apart]])
    for accelerator in range(workload.accelerators):
        low = 1 + accelerator * per_accelerator
        mine = at[low : low + per_accelerator]
        program.sum_most(workload.memory, [(mine, np.tile(units.size, (per_accelerator, 1)))])
        program.equal(mine[:, apart], mine[:, leader[apart]])
        program.forbid(mine[:, rank < accelerator])
        program.forbid(mine[:, ~np.isfinite(units.accelerator)])


def _call(
    program: Program,
    workload: Workload,
    units: Blocks,
    on: Ints,
    done: Ints,
    ends: tuple[int, int],
    horizon: float,
) -> None:
    """One call: it waits for all its inputs, and all its nodes are done when it ends."""
    of, (start, finish) = units.of, ends
    coming = program.variables(workload.nodes, upper=1.0)
    going = program.variables(workload.nodes, upper=1.0)
    u, v = workload.edges[of[workload.edges[:, 0]] != of[workload.edges[:, 1]]].T
    program.most(0.0, [(on[of[v]], 1.0), (on[of[u]], -1.0), (coming[u], -1.0)])
    program.most(0.0, [(on[of[u]], 1.0), (on[of[v]], -1.0), (going[u], -1.0)])
    makers = np.unique(u)
    program.most(horizon, [(done[makers], 1.0), (coming[makers], horizon), (start, -1.0)])
    program.most(horizon, [(finish, 1.0), (on[of], horizon), (done, -1.0)])
    times = np.where(np.isfinite(units.accelerator), units.accelerator, 0.0)
    moves = [(coming, workload.cost), (going, workload.cost)]
    program.sum_most(0.0, [(start, 1.0), (on, times), *moves, (finish, -1.0)])


def _start(
    model: Latency, workload: Workload, units: Blocks, split: Split, per_accelerator: int
) -> dict[int, float]:
    """Integer columns of a known split."""
    device, stage = np.zeros(units.count, np.int64), np.zeros(units.count, np.int64)
    device[units.of] = np.minimum(split.device, workload.accelerators)
    stage[units.of] = split.stage
    device[:] = renumbered(device, ranks(units), workload.accelerators)
    on_cpu = device >= workload.accelerators
    place = np.where(on_cpu, 0, 1 + device * per_accelerator + stage)
    start = {int(c): 0.0 for c in model.at.ravel()}
    return start | {int(c): 1.0 for c in model.at[place, np.arange(units.count)]}


def _split(
    model: Latency, values: Floats, workload: Workload, units: Blocks, per_accelerator: int
) -> Split:
    place = np.argmax(values[model.at], axis=0)[units.of] - 1
    device = np.where(place < 0, workload.accelerators, place // per_accelerator)
    return Split(device, np.where(place < 0, 0, place % per_accelerator))
