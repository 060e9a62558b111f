"""What a transfer takes in the midst of a step, where it takes longer than by itself.

A tensor goes through several hands: the sender's thread starts the copy or answers a request,
another one waits until the bytes are there, a third runs what waits for them. Each gets its turn at
once when nothing else goes on, as in the steps that time a link (:mod:`.transfers`); in a real
step, threads that compute, or launch kernels, stand in the way. So whole steps are run in pieces,
and what they take longer than simulated is made the transfers': all of them take longer, or those
do that are sent beside work, whichever comes nearer to what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar

from suite.core.arrays import Floats, Ints
from suite.core.machine import Link, Machine
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Step
from suite.execution.profiling.profiler import HostProfile
from suite.execution.profiling.run_step import time_step
from suite.simulator.compiled.judge import Simulator

SHAPES = ((10, 2), (1, 10))
"""(colocation classes in a run, in topological order; of how many runs one lies elsewhere): devices
that compute by turns, and one that asks another for little, but often."""
Way = Callable[[Machine, float], Machine]
"""How so many seconds more change a machine: :func:`slowed`, :func:`waiting`."""
LONGEST = 3e-3
"""Seconds that a transfer can be found to take more than by itself."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Steps of one problem in pieces."""

    problem: Problem
    devices: Ints
    """int32[steps, ops]."""
    seconds: Floats
    """float64[steps], as measured."""

    def simulated(self, machine: Machine) -> Floats:
        """float64[steps]: seconds on this machine."""
        scores = Simulator(replace(self.problem, machine=machine))(self.devices)
        return scores.step_time


def measure_pieces(backend: Backend, problem: Problem, step: Step) -> Pieces:
    """Run a step in pieces on :func:`two_devices`; InputError where a run fails."""
    devices = np.array(list(in_pieces(problem)))
    seconds = [time_step(backend, step, one, problem.graph.name) for one in devices]
    return Pieces(problem, devices, np.array(seconds))


def in_the_midst(profile: HostProfile, steps: Sequence[Pieces]) -> tuple[HostProfile, str]:
    """The profile with what transfers take in steps in pieces.

    With it comes what they told, for a line on a screen.
    """
    all_of_them, beside_work = fit_seconds(steps, slowed), fit_seconds(steps, waiting)
    before, longer, waits = (
        np.expm1(mean_error(steps, way, seconds))
        for way, seconds in ((slowed, 0.0), (slowed, all_of_them), (waiting, beside_work))
    )
    links = dict(profile.links)
    for (s, t), (fit, ends) in profile.links.items():
        if alike(profile.machine, s, t) and waits < longer:
            links[s, t] = replace(fit, scheduling_latency=beside_work), ends
        elif alike(profile.machine, s, t):
            links[s, t] = replace(fit, latency=fit.latency + all_of_them), ends
    words = f"{1e6 * beside_work:.0f} us more a transfer that is sent beside work: simulated"
    words += f" {waits:.1%} off on average; {1e6 * all_of_them:.0f} us more on all: {longer:.1%};"
    words += f" neither: {before:.1%}"
    in_steps = 0.0 if waits < longer else all_of_them
    return replace(profile, links=links, in_steps=in_steps), words


def two_devices(machine: Machine) -> tuple[int, int]:
    """The first CPU, and the first GPU or else the second CPU."""
    return machine.cpus[0], (*machine.gpus, *machine.cpus[1:])[0]


def alike(machine: Machine, source: int, target: int) -> bool:
    """Whether these devices are of the kinds of :func:`two_devices`: others go other ways."""
    ends = ((source, target), two_devices(machine))
    first, second = (sorted(machine.devices[d].kind for d in pair) for pair in ends)
    return first == second


def in_pieces(problem: Problem) -> Iterator[Ints]:
    """Placements of a step in pieces, int32[ops]; what a GPU cannot run stays on the CPU."""
    graph, (one, other) = problem.graph, two_devices(problem.machine)
    rank = np.argsort(np.argsort(graph.leaders))
    for length, every in SHAPES:
        elsewhere = rank // length % every == every // 2
        for most, rest in ((one, other), (other, one)):
            of_class = np.where(elsewhere, rest, most).astype(np.int32)
            of_class[~problem.allowed[:, other]] = one
            yield of_class[graph.colocation]


def fit_seconds(steps: Sequence[Pieces], way: Way) -> float:
    """Seconds that transfers take longer than by themselves, if they do so in this way.

    Those by which the simulated steps are, on average, off by the smallest factor; never below 0.
    """
    found = minimize_scalar(
        lambda added: mean_error(steps, way, added), bounds=(0.0, LONGEST), options={"xatol": 1e-7}
    )
    return float(found.x) if found.fun < mean_error(steps, way, 0.0) else 0.0


def mean_error(steps: Sequence[Pieces], way: Way, added: float) -> float:
    """By which factor simulated steps are off on average, as its logarithm."""
    factors = [
        pieces.simulated(way(pieces.problem.machine, added)) / pieces.seconds for pieces in steps
    ]
    return float(np.abs(np.log(np.concatenate(factors))).mean())


def slowed(machine: Machine, added: float) -> Machine:
    """The machine with ``added`` seconds on the latency of each link that pieces tell of."""
    return _linked(machine, lambda link: replace(link, latency=link.latency + added))


def waiting(machine: Machine, seconds: float) -> Machine:
    """The machine with this scheduling latency on each link that pieces tell of."""
    return _linked(machine, lambda link: replace(link, scheduling_latency=seconds))


def _linked(machine: Machine, changed: Callable[[Link], Link]) -> Machine:
    names, links = [device.name for device in machine.devices], []
    for (s, t), link in machine.link_of.items():
        other = changed(link) if alike(machine, s, t) else link
        links.append(replace(other, source=names[s], target=names[t]))
    return replace(machine, links=tuple(links))
