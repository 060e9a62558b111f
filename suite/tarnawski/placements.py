"""Splits of a coarsened task turned back into placements of its operations."""

from __future__ import annotations

import numpy as np

from suite.bench.load_problem import make_problem
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.tarnawski.coarsen import alike, coarsen
from suite.tarnawski.workload import Split, Workload


def problem_of(workload: Workload) -> Problem:
    """The problem that a workload was coarsened from.

    InputError where it was not, or graph or machine have changed since.
    """
    origin = workload.origin
    if origin is None:
        raise InputError(
            f"{workload.name} is no task of placebench, so nothing can be placed; write one with"
            " placebench graph TASK --workload FILE"
        )
    if origin.file and not origin.task:
        raise InputError(
            f"{workload.name} comes from {origin.file}, which cannot be read again from here; write"
            " its graph with placebench graph MODEL --json and coarsen that with --graph"
        )
    problem = make_problem(origin.task, origin.machine, origin.gpus, origin.file or None)
    if problem.fingerprint != origin.fingerprint:
        raise InputError(
            f"{workload.name} was written from another graph or machine than {origin.task} on"
            f" {origin.machine} is now; write it again with placebench graph"
        )
    return problem


def turned_back(problem: Problem, workload: Workload, split: Split) -> Placement:
    """Every operation on the device of its block; InputError if the workload is not of the problem.

    Accelerators are the GPUs in their order, whatever no GPU can run goes to the CPU. An answer for
    inference places the backward pass as well, since blocks hold both.
    """
    assert workload.origin is not None
    coarse = coarsen(problem, workload.origin.inference)
    nodes, (gpu, cpu) = len(coarse.node_colour), alike(problem.machine)
    # Nodes of outputs come after the others; they have their makers' colours.
    if workload.nodes < nodes or not np.array_equal(workload.ids[:nodes], np.arange(nodes)):
        raise InputError(f"{workload.name} is not as placebench wrote it; write it again")
    devices = np.array([*problem.machine.gpus, *problem.machine.cpus])
    # In a workload of inference, blocks that are backward as a whole are on no device.
    runs = np.isfinite(problem.class_seconds[problem.graph.colocation, gpu])
    at = np.full(int(coarse.colour.max()) + 1, gpu, np.int64)
    at[coarse.colour[~runs]] = cpu
    at[coarse.node_colour] = devices[split.device[:nodes]]
    return Placement.of(problem, at[coarse.colour])
