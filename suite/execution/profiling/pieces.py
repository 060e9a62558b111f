"""What a transfer takes in the midst of a step, where it takes longer than by itself.

Between a CPU and a GPU a tensor goes through several hands: the sender's thread starts the copy,
another one polls until it has been made, a third runs what waits for it. Each gets its turn at once
when nothing else goes on, as in the steps that time a link (:mod:`.transfers`); in a real step,
threads that launch kernels stand in the way. So whole steps are run in pieces, and what they take
longer than simulated is made the transfers'. The pieces are small ones on the other device: there
most transfers are waited for, and a step takes a tenth longer for 30 us of each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from suite.core.arrays import Ints
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Step, Timing
from suite.execution.profiling.profiler import HostProfile
from suite.execution.profiling.run_step import run_step
from suite.simulator.compiled.judge import Simulator

EVERY = (10, 20)
"""Every tenth, or every twentieth, colocation class in topological order lies elsewhere."""
LONGEST = 1e-3
"""Seconds that a transfer can be found to take more than by itself."""
_TIMING = Timing(steps=15, discarded=5, traced=0, timeout=600)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A step in pieces, on a CPU and a GPU."""

    problem: Problem
    devices: Ints
    """int32[ops]."""
    seconds: float
    """Of the step, as measured."""


def measure_pieces(backend: Backend, problem: Problem, step: Step) -> list[Pieces]:
    """Run a step in pieces on the first CPU and the first GPU; InputError where a run fails."""
    found = []
    for devices in in_pieces(problem):
        result = run_step(backend, step, devices, _TIMING, problem.graph.name)
        assert result.step_time is not None, "more steps are timed than discarded"
        found.append(Pieces(problem, devices, result.step_time))
    return found


def in_the_midst(profile: HostProfile, steps: Sequence[Pieces]) -> tuple[HostProfile, str]:
    """The profile with what transfers between a CPU and a GPU take in steps in pieces.

    With it comes what they told, for a line on a screen.
    """
    added = fit_latency(steps)
    before, after = (np.expm1(mean_error(steps, more)) for more in (0.0, added))
    devices, links = profile.machine.devices, dict(profile.links)
    for (s, t), (fit, ends) in profile.links.items():
        if devices[s].kind != devices[t].kind:
            links[s, t] = replace(fit, latency=fit.latency + added), ends
    words = f"{1e6 * added:.0f} us more a transfer between CPU and GPU;"
    words += f" simulated {after:.1%} off on average, {before:.1%} without"
    return replace(profile, links=links), words


def in_pieces(problem: Problem) -> Iterator[Ints]:
    """Placements on one device but for some classes, int32[ops]; what no GPU can run stays."""
    graph, machine = problem.graph, problem.machine
    _, first = np.unique(graph.colocation, return_index=True)
    rank = np.empty(graph.n_classes, np.int64)
    rank[np.argsort(first)] = np.arange(graph.n_classes)
    cpu, gpu = machine.cpus[0], machine.gpus[0]
    for every in EVERY:
        for most, others in ((cpu, gpu), (gpu, cpu)):
            of_class = np.where(rank % every == every // 2, others, most).astype(np.int32)
            of_class[~problem.allowed[:, gpu]] = cpu
            yield of_class[graph.colocation]


def fit_latency(steps: Sequence[Pieces]) -> float:
    """Seconds that every transfer between a CPU and a GPU takes longer than by itself.

    Those by which the simulated steps are, on average, off by the smallest factor; never below 0.
    """
    found = minimize_scalar(
        lambda added: mean_error(steps, added), bounds=(0.0, LONGEST), options={"xatol": 1e-7}
    )
    return float(found.x) if found.fun < mean_error(steps, 0.0) else 0.0


def mean_error(steps: Sequence[Pieces], added: float) -> float:
    """By which factor simulated steps are off on average, as its logarithm."""
    errors = []
    for one in steps:
        problem = replace(one.problem, machine=slowed(one.problem.machine, added))
        errors.append(np.log(Simulator(problem).run(one.devices).step_time / one.seconds))
    return float(np.abs(errors).mean())


def slowed(machine: Machine, added: float) -> Machine:
    """The machine with ``added`` seconds on the latency of each link of a CPU and a GPU."""
    links = []
    for (s, t), link in machine.link_of.items():
        source, target = machine.devices[s], machine.devices[t]
        more = added if source.kind != target.kind else 0.0
        own = replace(link, source=source.name, target=target.name, latency=link.latency + more)
        links.append(own)
    return replace(machine, links=tuple(links))
