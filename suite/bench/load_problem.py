"""From the names in a cell to its problem: graph, machine and the expert's placement."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from suite.bench.cell import Job
from suite.core.arrays import Ints
from suite.core.colocation import Rule
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.model import CPU
from suite.core.problem import Problem
from suite.formats.interchange import read_graph, write_graph
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import as_measured, times_name, with_op_times
from suite.search.registry import described_task, failure, task


@lru_cache(maxsize=2)
def load_task_graph(name: str, graph_file: str | None) -> OpGraph:
    """Return the graph of a task, or of a file where one is given."""
    if graph_file is not None:
        return read_graph(Path(graph_file))
    from suite.capture.cache import load_graph

    return load_graph(name)


@lru_cache(maxsize=2)
def timed_graph(name: str, machine: str, graph_file: str | None) -> OpGraph:
    """Return the graph of a task with the times measured on a machine, where there are any.

    Those of a file are kept by its content, as ``place`` finds them.
    """
    graph = load_task_graph(name, graph_file)
    kept = times_name(graph, name if graph_file is None else None)
    return with_op_times(graph, load_machine(machine), kept)


@lru_cache(maxsize=2)
def make_problem(name: str, machine: str, gpus: int, graph_file: str | None = None) -> Problem:
    """Return the problem of a task on a machine, the expert's placement included."""
    graph = timed_graph(name, machine, graph_file)
    target = as_measured(load_machine(machine).with_gpus(gpus), graph)
    if graph_file is not None:
        return Problem.create(graph, target)
    return Problem.create(graph, target, expert(graph, target, name), rule_of(name))


def problem_of(job: Job) -> Problem:
    """Return the problem of a job's cell."""
    cell = job.cell
    return make_problem(cell.task, cell.machine, cell.gpus, job.graph_file)


@lru_cache(maxsize=2)
def times_in_use(name: str, machine: str, graph_file: str | None) -> str:
    """By which name a machine keeps the times that :func:`timed_graph` takes, and their spread."""
    graph = load_task_graph(name, graph_file)
    if graph_file is None:
        return times_name(graph, name)
    # What results keep of a graph file has its times within, and they are kept by it without them.
    bare = replace(graph, seconds={})
    kept = times_name(bare, None)
    timed = with_op_times(bare, load_machine(machine), kept)
    same = timed.fingerprint == timed_graph(name, machine, graph_file).fingerprint
    return kept if same else times_name(graph, None)


def expert(graph: OpGraph, machine: Machine, name: str) -> Ints | None:
    """The human expert's device of every operation, int32[ops]; None on a single CPU.

    On a machine of several CPUs and no GPU, each CPU stands for a GPU. InputError says what is
    wrong with the model's ``expert``.
    """
    shared = machine.accelerators
    if not shared:
        return None
    numbers = _experts_numbers(graph, len(shared), name)
    cpu = machine.cpus[0] if machine.cpus else shared[0]
    return np.where(numbers == CPU, cpu, np.array(shared)[numbers]).astype(np.int32)


def _experts_numbers(graph: OpGraph, gpus: int, name: str) -> Ints:
    """What the ``expert`` of a task gives; InputError where that is no placement."""
    where = f"expert of {described_task(name)}"
    try:
        numbers = np.asarray(task(name).expert(graph, gpus))
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"{where} fails: {failure(error)}; mend it") from None
    if numbers.shape != (graph.n_ops,) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"{where} gives {numbers.dtype}{list(numbers.shape)}; return one integer for each of"
            f" the {graph.n_ops:,} operations"
        )
    if numbers.min() < CPU or numbers.max() >= gpus:
        raise InputError(
            f"{where} gives GPUs {numbers.min()} to {numbers.max()}; return 0 to {gpus - 1}, or"
            f" {CPU} for the CPU"
        )
    return numbers


def rule_of(name: str) -> Rule | None:
    """The hand-made co-location groups of a task, if any.

    They raise InputError, which says what is wrong with the model's ``block``.
    """
    block: Rule | None = task(name).block
    if block is None:
        return None
    where = f"block of {described_task(name)}"

    def rule(op: str) -> str | None:
        try:
            found: object = block(op)
        except (Exception, SystemExit) as error:
            raise InputError(f"{where} fails: {failure(error)}; mend it") from None
        if found is not None and not isinstance(found, str):
            raise InputError(f"{where} gives {found!r} for {op}; return a text or None")
        return found

    return rule


def kept_graph(grid: Path, name: str, graph_fingerprint: str) -> Path:
    """Where the results of a grid keep the graph of a task that was given as a file."""
    return grid / "graphs" / f"{name}-{graph_fingerprint}.npz"


def keep_graph(job: Job, results: Path) -> None:
    """Copy a graph given as a file into the results, so that they can be verified anywhere.

    With it go the times that were measured of it, under which it was placed.
    """
    if job.graph_file is None:
        return
    graph = timed_graph(job.cell.task, job.cell.machine, job.graph_file)
    path = kept_graph(results / job.cell.grid, job.cell.task, graph.fingerprint)
    if not path.exists():
        write_graph(graph, path)
