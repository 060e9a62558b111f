"""The models whose operations ``profile`` times, and what their steps tell of transfers."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from suite.commands._common import options_of
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.arrays import Floats
    from suite.core.graph import OpGraph
    from suite.core.machine import Machine
    from suite.execution.measurement import Backend, Step
    from suite.execution.profiling.machine_file import Entries
    from suite.execution.profiling.profiler import HostProfile


Times: TypeAlias = "dict[str, dict[int, Floats]]"
"""Model -> device, one of each kind -> float64[ops]."""


class Model(NamedTuple):
    """What is timed operation by operation."""

    graph: OpGraph
    step: Step
    times: str
    """By which name its times are kept."""


def load_models(arguments: argparse.Namespace, folder: Path) -> dict[str, Model]:
    """Load all models that are named, before minutes are spent on measuring."""
    from suite.capture.load_model import load
    from suite.capture.options import Options
    from suite.execution.steps import step_of
    from suite.formats.measured_costs import times_name

    options, found = options_of(arguments), {}
    if options != Options() and len(arguments.task) != 1:
        raise InputError("--batch, --input, --fetch and --trust are of one model; name one --task")
    for number, name in enumerate(arguments.task):
        own = folder / str(number)
        own.mkdir()
        loaded = load(name, options, own)
        step = step_of(loaded, arguments.backend, name, options)
        found[name] = Model(loaded.graph, step, times_name(loaded.graph, loaded.task))
    return found


def run_models(
    models: dict[str, Model], machine: Machine, backend: Backend
) -> list[tuple[str, int]]:
    """Run one step of each model on one device of each kind, before minutes are spent on measuring.

    Returns the models and devices for which there was memory enough. Where there was not, which is
    why some are placed at all, it says so: operations have no times of their own there. InputError
    where a model fails otherwise.
    """
    from suite.execution.profiling.op_times import whole_on
    from suite.execution.profiling.run_step import ONCE, OutOfMemory, run_step

    fitting = []
    for name, device in product(models, one_of_each_kind(machine)):
        graph, step, _ = models[name]
        try:
            run_step(backend, step, whole_on(backend, graph, device, machine.cpus[0]), ONCE, name)
            fitting.append((name, device))
        except OutOfMemory as error:
            print(
                f"{name} on {machine.devices[device].name}: {error}; its operations get no times of"
                " their own there",
                flush=True,
            )
    return fitting


def time_models(
    models: dict[str, Model],
    fitting: list[tuple[str, int]],
    machine: Machine,
    backend: Backend,
    rounds: int,
) -> tuple[Times, Times]:
    """Time the operations of models, one after another, in rounds: the median step counts.

    ``fitting``: models and devices. A host that others disturb does so for seconds to minutes.
    Returns seconds and their relative spreads.
    """
    from suite.execution.profiling.op_times import OpTimes, measure_ops, typical
    from suite.execution.profiling.spreads import op_spread

    found: dict[tuple[str, int], list[OpTimes]] = {key: [] for key in fitting}
    for _ in range(rounds):
        for (name, device), times in found.items():
            graph, step, _ = models[name]
            at_once = machine.devices[device].parallelism
            times.append(measure_ops(backend, graph, step, device, machine.cpus[0], at_once))
    usual = {key: typical(times) for key, times in found.items()}
    for (name, device), one in usual.items():
        words = f"{one.step_time:.4g} s a step, traced times x {one.factor:.2f}"
        if one.launch:
            words += f", launches at least {1e6 * one.launch:.1f} us"
        print(f"{name} on {machine.devices[device].name}: {words}", flush=True)
    seconds: Times = {name: {} for name, _ in fitting}
    spreads: Times = {name: {} for name, _ in fitting}
    for (name, device), times in found.items():
        seconds[name][device] = usual[name, device].seconds
        spreads[name][device] = op_spread(times)
    return seconds, spreads


def keep_times(
    models: dict[str, Model], machine: Machine, seconds: Times, spreads: Times, folder: Path
) -> None:
    """Write the times of the models that have some; remove those of an earlier profile's.

    Their ``folder`` is there without any, too: where it is not, it was lost.
    """
    from suite.formats.measured_costs import write_op_times

    for name, times in seconds.items():
        graph, _, kept = models[name]
        kinds = {device: machine.devices[device].kind for device in times}
        by_kind = [{kinds[d]: one[name][d] for d in kinds} for one in (seconds, spreads)]
        write_op_times(graph, by_kind[0], folder, kept, by_kind[1])
    folder.mkdir(parents=True, exist_ok=True)
    forget_others(folder, [models[name].times for name in seconds])


def one_of_each_kind(machine: Machine) -> list[int]:
    """A CPU and a GPU, as far as the machine has them."""
    return [*machine.cpus[:1], *machine.gpus[:1]]


def forget_others(folder: Path, kept: Collection[str]) -> None:
    """Remove times that an earlier profile of this name took: they are not of these figures."""
    earlier = sorted(path for path in folder.glob("*.npz") if path.stem not in kept)
    for path in earlier:
        path.unlink()
    if earlier:
        names = ", ".join(path.stem for path in earlier)
        print(f"removed times of an earlier profile of this name: {names}", flush=True)


def cut_models(
    profile: HostProfile,
    backend: Backend,
    models: dict[str, Model],
    seconds: dict[str, dict[int, Floats]],
) -> HostProfile:
    """Take what the models' own cuts cost for all links between a CPU and a GPU."""
    from suite.execution.openvino.cuts import fit_cuts, measure_cuts

    cuts = []
    for name, times in seconds.items():
        cuts += measure_cuts(backend, models[name].graph, models[name].step, times)
    links = dict(profile.links)
    devices = profile.machine.devices
    for (s, t), (plain, ends) in links.items():
        if devices[s].kind != devices[t].kind:
            fit = fit_cuts(plain, cuts)
            links[s, t] = fit, ends
            print(f"{devices[s].name} -> {devices[t].name}, models in pieces: {fit}", flush=True)
    return replace(profile, links=links)


def run_pieces(
    profile: HostProfile,
    backend: Backend,
    models: dict[str, Model],
    seconds: dict[str, dict[int, Floats]],
    rules: Entries,
) -> HostProfile:
    """Take what transfers take in the midst of the models' steps, of those that fit in pieces."""
    from suite.core.problem import Problem
    from suite.execution.profiling.machine_file import machine_of
    from suite.execution.profiling.pieces import in_the_midst, measure_pieces
    from suite.execution.profiling.run_step import OutOfMemory

    machine, steps = machine_of(profile, rules), []
    for name, times in seconds.items():
        by_kind = {machine.devices[device].kind: one for device, one in times.items()}
        problem = Problem.create(replace(models[name].graph, seconds=by_kind), machine)
        try:
            steps.append(measure_pieces(backend, problem, models[name].step))
        except OutOfMemory as error:
            print(f"{name} in pieces: {error}; it tells nothing of transfers", flush=True)
    if not steps:
        return profile
    profile, words = in_the_midst(profile, steps)
    print(f"models in pieces: {words}", flush=True)
    return profile
