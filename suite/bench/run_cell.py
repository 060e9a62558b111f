"""One job -> one record: load, place, judge, bound. Every outcome is a record."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.cell import SIMULATOR, Job
from suite.bench.provenance import provenance
from suite.bench.record import FORMAT, Record
from suite.bounds.lower_bound import lower_bound
from suite.core.arrays import Ints, digest
from suite.core.errors import InputError, Unsupported
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.model import CPU
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.interchange import read_graph, write_graph
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import with_op_times
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.progress_log import Journal
from suite.search.registry import make_placer, task
from suite.simulator.channels import channels_of
from suite.simulator.compiled.judge import Simulator
from suite.simulator.result import SEMANTICS_VERSION
from suite.simulator.semantics import PLACEBENCH, PRESETS, preset
from suite.simulator.timeline import timeline

BINS = 200


@lru_cache(maxsize=2)
def load_task_graph(name: str, graph_file: str | None) -> OpGraph:
    """Return the graph of a task, or of a file where one is given."""
    if graph_file is not None:
        return read_graph(Path(graph_file))
    from suite.capture.cache import load_graph

    return load_graph(name)


@lru_cache(maxsize=2)
def timed_graph(name: str, machine: str, graph_file: str | None) -> OpGraph:
    """Return the graph of a task with the times measured on a machine, where there are any."""
    graph = load_task_graph(name, graph_file)
    return graph if graph_file is not None else with_op_times(graph, load_machine(machine), name)


@lru_cache(maxsize=2)
def make_problem(name: str, machine: str, gpus: int, graph_file: str | None = None) -> Problem:
    """Return the problem of a task on a machine, the expert's placement included."""
    graph = timed_graph(name, machine, graph_file)
    target = load_machine(machine).with_gpus(gpus)
    if graph_file is not None:
        return Problem.create(graph, target)
    return Problem.create(graph, target, expert(graph, target, name), task(name).block)


def expert(graph: OpGraph, machine: Machine, name: str) -> Ints | None:
    """The human expert's device of every operation, int32[ops]; None on a single CPU.

    On a machine of several CPUs and no GPU, each CPU stands for a GPU.
    """
    shared = machine.accelerators
    if not shared:
        return None
    numbers = task(name).expert(graph, len(shared))
    cpu = machine.cpus[0] if machine.cpus else shared[0]
    return np.where(numbers == CPU, cpu, np.array(shared)[numbers]).astype(np.int32)


@lru_cache(maxsize=2)
def simulators(problem: Problem) -> Mapping[str, Simulator]:
    """The compiled simulators of a problem, by semantics."""
    return {name: Simulator(problem, semantics=rules) for name, rules in PRESETS.items()}


bound_of = lru_cache(maxsize=2)(lower_bound)
"""The lower bound of a problem, which its cells share."""


def kept_graph(grid: Path, name: str, graph_fingerprint: str) -> Path:
    """Where the results of a grid keep the graph of a task that was given as a file."""
    return grid / "graphs" / f"{name}-{graph_fingerprint}.npz"


def keep_graph(job: Job, results: Path) -> None:
    """Copy a graph given as a file into the results, so that they can be verified anywhere."""
    if job.graph_file is None:
        return
    graph = load_task_graph(job.cell.task, job.graph_file)
    path = kept_graph(results / job.cell.grid, job.cell.task, graph.fingerprint)
    if not path.exists():
        write_graph(graph, path)


def fingerprint(job: Job) -> str:
    """16 hexadecimal digits of all that decides a record: a change makes the cell run again."""
    cell = job.cell
    graph = timed_graph(cell.task, cell.machine, job.graph_file).fingerprint
    machine = load_machine(cell.machine).with_gpus(cell.gpus).fingerprint
    placer = asdict(make_placer(job.placer, job.parameters))
    limits = (job.max_evaluations, job.max_seconds, job.base_seed)
    settings = (
        FORMAT,
        job.backend,
        semantics(job),
        SEMANTICS_VERSION,
        job.placer,
        sorted(placer.items()),
        limits,
        cell.name,
    )
    return digest([graph, machine, *settings])


def run(
    job: Job, journal: Journal | None = None, saved: Checkpoint | None = None
) -> tuple[Record, Ints | None]:
    """Run a job: (record, devices int32[ops] or None). Only a crash of the process raises.

    A search writes into ``journal``, and goes on from what ``saved`` holds.
    """
    cell = job.cell
    record, devices, blame = header(job), None, "error"
    try:
        problem = make_problem(cell.task, cell.machine, cell.gpus, job.graph_file)
        record |= _about(problem, job.semantics)
        placer = make_placer(job.placer, job.parameters)
        record["parameters"] = asdict(placer)
        blame = "invalid"
        placement, cost = _placed(job, problem, placer, journal or Journal(), saved)
        simulated = judged(problem, placement, job.semantics)
        devices, blame = np.asarray(placement.devices), "error"
        record |= cost | _verdict(job, problem, placement, simulated)
    except Unsupported as reason:
        record |= {"status": "skipped", "reason": str(reason)}
    except InputError as error:
        record |= {"status": blame, "reason": str(error)}
    except Exception as error:
        record |= {"status": "error", "reason": _told(error)}
    return record, devices


def semantics(job: Job) -> str:
    """The name of what a step is taken to be."""
    return job.semantics if job.backend == SIMULATOR else "tensorflow"


def _verdict(job: Job, problem: Problem, placement: Placement, simulated: Record) -> Record:
    if job.backend == SIMULATOR:
        return simulated
    from suite.bench.measured import measured

    return measured(job, problem, placement, simulated)


def _told(error: Exception) -> str:
    """Type, message and place of an exception, on one line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return " ".join(f"{type(error).__name__}: {error} ({where})".split())


def _placed(
    job: Job, problem: Problem, placer: Any, journal: Journal, saved: Checkpoint | None
) -> tuple[Placement, Record]:
    """Let the placer answer; return its placement and what that cost."""
    seed = job.cell.derived_seed(job.base_seed)
    judge, limits = simulators(problem)[job.semantics], (job.max_evaluations, job.max_seconds)
    search = Search(problem, judge, seed, *limits, journal, saved)
    try:
        placement = placer.place(problem, search)
    finally:
        journal.close()
    cost = {
        "wall_seconds": round(search.clock.wall, 6),
        "cpu_seconds": round(search.clock.processor, 6),
        "evaluations": search.evaluations,
        "history": [[n, round(seconds, 3), best] for n, seconds, best in search.history],
        "planner": search.notes,
    }
    return placement, cost


def header(job: Job) -> Record:
    """The fields of a record that are known before the job runs."""
    return {
        "format": FORMAT,
        "cell": job.cell.as_dict(),
        "backend": job.backend,
        "semantics": semantics(job),
        "fingerprint": fingerprint(job),
        "base_seed": job.base_seed,
        "budget": {"evaluations": job.max_evaluations, "seconds": job.max_seconds},
        "status": "error",
        "reason": "",
        "step_time": None,
        "step_times": [],
        "parameters": dict(job.parameters),
        "provenance": provenance(),
    }


def _about(problem: Problem, semantics: str) -> Record:
    """Facts about the graph, the machine and the bound, which is proven for the default alone."""
    graph, facts = problem.graph, problem.graph.metadata
    bound = bound_of(problem) if semantics == PLACEBENCH.name else None
    return {
        "graph": {
            "name": graph.name,
            "ops": graph.n_ops,
            "ops_unpruned": facts.get("ops_unpruned", graph.n_ops),
            "paper_ops": facts.get("paper_ops"),
            "tensors": graph.n_tensors,
            "flops": float(graph.flops.sum()),
            "parameters": facts.get("parameters"),
            "persistent_bytes": int(graph.persistent_bytes.sum()),
            "choices": list(facts.get("choices", ())),
            "fingerprint": graph.fingerprint,
        },
        "capacity": {d.name: d.memory for d in problem.machine.devices},
        "lower_bound": bound.seconds if bound else None,
        "bound_kind": bound.kind if bound else "",
    }


def judged(problem: Problem, placement: Placement, semantics: str) -> Record:
    """Simulate a placement: the fields of a record that follow from it alone.

    Raises InputError when it is not valid.
    """
    checked = Placement.of(problem, placement.devices)
    rules = preset(semantics)
    line = timeline(problem, checked.devices, semantics=rules)
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
        "under_semantics": _under_semantics(problem, checked),
    }


def _under_semantics(problem: Problem, placement: Placement) -> Record:
    """Step time and devices out of memory under every preset, by name."""
    names, verdicts = [d.name for d in problem.machine.devices], {}
    for name, simulator in simulators(problem).items():
        result = simulator.run(placement.devices)
        full = [device for device, oom in zip(names, result.oom, strict=True) if oom]
        verdicts[name] = {"step_time": result.step_time, "oom": full}
    return verdicts
