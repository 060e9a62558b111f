"""Compiles, once and before the workers start, what they would each compile.

Compiled functions are kept on disk, where every process finds them. Two workers that begin side by
side find nothing there yet, and both compile the same for minutes, within their cells' time limits.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from suite.bench.cell import SIMULATOR, Job
from suite.bench.first_use import SAMPLE, exercise, is_ours, marker_of
from suite.bench.judge import bound_of, judged, simulator_under, simulators
from suite.bench.load_problem import make_problem
from suite.bench.worker import live_with_parent
from suite.bounds.lower_bound import lower_bound
from suite.core.cores import Share, take_share
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.search.registry import make_placer
from suite.simulator.semantics import PLACEBENCH

_SPAWN = multiprocessing.get_context("spawn")


def needed(jobs: Sequence[Job]) -> list[Job]:
    """One job of every kind whose functions have not been compiled here, on the sample graph.

    Only our own placers that do not learn are compiled for: the others compile nothing.
    """
    kinds: dict[Path, Job] = {}
    for job in jobs:
        marker = _marker(job)
        if not marker.exists():
            kinds.setdefault(marker, _sample(job))
    return list(kinds.values())


@contextmanager
def compiling(jobs: Sequence[Job]) -> Iterator[None]:
    """Compile for ``jobs`` (of :func:`needed`) beside what is done within, and wait for the rest.

    Judging and placing are compiled by a process each. A failure there is no failure here: the
    cells compile what is lacking, and say what is wrong.
    """
    if not jobs:
        yield
        return
    children = [_SPAWN.Process(target=part, args=(jobs,), daemon=True) for part in (_judge, _place)]
    try:
        for child in children:
            child.start()
        yield
        for child in children:
            child.join()
        if not any(child.exitcode for child in children):
            for job in jobs:
                _marker(job).parent.mkdir(parents=True, exist_ok=True)
                _marker(job).touch()
    finally:
        for child in children:
            if child.pid is not None:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                child.kill()
                child.join()


def _judge(jobs: Sequence[Job]) -> None:
    """What the suite does with every placement: the bound, and a step under each semantics."""
    live_with_parent()
    take_share(Share.of(2))
    for problem in _problems(jobs):
        bound_of(problem, PLACEBENCH.name)
        # The other process begins with the first one.
        for simulator in reversed(list(simulators(problem).values())):
            simulator.run(np.zeros(problem.graph.n_ops, np.int32))
        devices = np.argmax(problem.allowed, axis=1)[problem.graph.colocation]
        judged(problem, Placement(devices.astype(np.int32)), PLACEBENCH.name)


def _place(jobs: Sequence[Job]) -> None:
    """What placers do: judge batches, with and without deadlines, and their own functions."""
    live_with_parent()
    take_share(Share.of(2))
    for job in jobs:
        problem = _problem(job)
        judge = simulator_under(problem, job.semantics)
        placer = make_placer(job.placer, job.parameters) if is_ours(job.placer) else None
        exercise(problem, judge, placer, None if job.max_seconds is None else 1)


def _problems(jobs: Sequence[Job]) -> list[Problem]:
    return list(dict.fromkeys(map(_problem, jobs)))


def _problem(job: Job) -> Problem:
    return make_problem(job.cell.task, job.cell.machine, job.cell.gpus, job.graph_file)


def _sample(job: Job) -> Job:
    cell = replace(job.cell, task="sample", gpus=min(job.cell.gpus, 2))
    return replace(job, cell=cell, graph_file=str(SAMPLE), backend=SIMULATOR)


def _marker(job: Job) -> Path:
    """A file that is there once all was compiled for jobs like this one."""
    machine = load_machine(job.cell.machine)
    return marker_of(job.placer, machine, job.semantics, lower_bound.__module__)
