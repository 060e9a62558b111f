"""What a placement is worth: the fields of a record that follow from it alone, and the bound."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from suite.bench.record import Record
from suite.bounds.by_semantics import BOUNDED, bound_under
from suite.bounds.lower_bound import Bound
from suite.core.arrays import Ints
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.uncertainty import Judging, Spread
from suite.formats.machine_spread import load_spread
from suite.search.robust_judge import RobustJudge
from suite.simulator.channels import channels_of
from suite.simulator.judges import AnySimulator, make_simulator, own_semantics
from suite.simulator.semantics import PRESETS, preset
from suite.simulator.timeline import timeline

BINS = 200
"""Parts of a step in which a record tells the devices' utilisation."""


@lru_cache(maxsize=2)
def simulators(problem: Problem) -> Mapping[str, AnySimulator]:
    """The compiled simulators of a problem, by semantics: the presets, and the machine's own.

    Raises InputError for a problem that the simulator cannot count.
    """
    own = own_semantics(problem.machine)
    known = {**PRESETS, own.name: own}
    return {name: make_simulator(problem, rules) for name, rules in known.items()}


def simulator_under(problem: Problem, semantics: str) -> AnySimulator:
    """The simulator of a problem by semantics that a grid names, the machine's own or not."""
    known = simulators(problem)
    return known[semantics] if semantics in known else make_simulator(problem, preset(semantics))


@lru_cache(maxsize=2)
def robust_judge(
    problem: Problem, machine: str, kept: str, settings: Judging, semantics: str
) -> RobustJudge:
    """The judge of a problem on several machines, drawn from the uncertainty of ``machine``.

    ``kept`` is the name by which times of the problem's operations are kept there, if they were
    measured. Raises InputError where that machine records no uncertainty and the settings state
    none.
    """
    if settings.spread is None:
        spread = load_spread(machine, kept)
    else:
        spread = Spread.uniform(problem, settings.spread)
    return RobustJudge(problem, spread, settings, preset(semantics))


@lru_cache(maxsize=2)
def bound_of(problem: Problem, semantics: str) -> Bound:
    """The lower bound of a problem, which its cells share; the semantics must have one."""
    return bound_under(problem, preset(semantics))


def is_bounded(semantics: str) -> bool:
    """Whether there is a lower bound under these semantics."""
    return semantics in BOUNDED


def judged(problem: Problem, placement: Placement, semantics: str) -> Record:
    """Simulate a placement: the fields of a record that follow from it alone.

    Raises InputError when it is not valid.
    """
    checked = Placement.of(problem, placement.devices)
    rules = preset(semantics)
    # A placement's array is read-only, which is a type of its own to the compiler: with a copy the
    # simulator is compiled once, for this and for the batches of searches.
    devices = np.array(checked.devices)
    line = timeline(problem, devices, semantics=rules)
    result, names = line.result, [d.name for d in problem.machine.devices]
    full = [name for name, oom in zip(names, result.oom, strict=True) if oom]
    needs = {name: int(b) for name, b in zip(names, result.peak_memory, strict=True)}
    capacity = {d.name: d.memory for d in problem.machine.devices}
    reason = ", ".join(
        f"{n} needs {needs[n] / 1e9:.2f} GB of {capacity[n] / 1e9:.2f} GB" for n in full
    )
    shares = np.round(line.utilisation(BINS), 3)
    channels = channels_of(problem.machine, rules)[0]
    return {
        "status": "oom" if full else "ok",
        "reason": reason,
        "step_time": result.step_time,
        "step_times": [result.step_time],
        "peak_memory": needs,
        "busy": {n: int(b) / 1e9 for n, b in zip(names, result.busy, strict=True)},
        "moved": dict(zip(channels, result.moved.tolist(), strict=True)),
        "oom": full,
        "utilisation": {
            "bin_seconds": result.step_time / BINS,
            "devices": {n: row.tolist() for n, row in zip(names, shares, strict=True)},
        },
        "placement_hash": checked.hash,
        "under_semantics": _under_semantics(problem, devices),
    }


def _under_semantics(problem: Problem, devices: Ints) -> Record:
    """Step time and devices out of memory under every preset, by name."""
    names, verdicts = [d.name for d in problem.machine.devices], {}
    for name, simulator in simulators(problem).items():
        result = simulator.run(devices)
        full = [device for device, oom in zip(names, result.oom, strict=True) if oom]
        verdicts[name] = {"step_time": result.step_time, "oom": full}
    return verdicts
