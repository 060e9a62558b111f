"""Trains one policy on several graphs: from a grid's cells to a policy file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from suite.bench.cell import Job
from suite.bench.fingerprint import chosen, judging_of
from suite.bench.grid import Grid, one_each
from suite.bench.load_problem import problem_of
from suite.bench.made_by import code_of_modules, placer_modules
from suite.bench.provenance import provenance
from suite.bench.run_cell import search_of
from suite.bench.variants import variant
from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.formats.machine_toml import load_machine
from suite.formats.policy_file import Lesson, PolicyFile
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.progress_log import Journal, Progress
from suite.search.registry import make_placer, unknown
from suite.search.training import Learned, Learner, Training, policy_field, policy_path
from suite.simulator.result import SEMANTICS_VERSION

Listener = Callable[[str, Progress], None]


def lessons_of(
    grid: Grid,
    placer: str | None,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    gpus: int | None = None,
    evaluations: int | None = None,
) -> tuple[Job, ...]:
    """The jobs of a grid that a policy is to be trained on: one placer's, one seed of each task.

    ``placer`` is a label of the grid; None where only one can be trained. ``only`` and ``without``
    name tasks. ``gpus`` and ``evaluations``, of each graph, replace the grid's GPUs and budget.
    InputError where something is not there, nothing is left, or the budget has seconds: searches
    that take turns have one clock.
    """
    label = _placer_label(grid, placer)
    jobs = [job for job in grid.jobs if (job.cell.placer, job.cell.seed) == (label, 0)]
    known = [job.cell.task for job in jobs]
    for name in (*only, *without):
        if name not in known:
            raise unknown(name, f"task of {grid.name}", known)
    kept = [job for job in jobs if job.cell.task in (only or known)]
    kept = [job for job in kept if job.cell.task not in without]
    if not kept:
        raise InputError(f"no task of {grid.name} is left to train on; leave out fewer")
    if gpus is not None:
        there = len(load_machine(kept[0].cell.machine).gpus)
        if gpus > there:
            raise InputError(f"{gpus} GPUs are asked for, {kept[0].cell.machine} has {there}")
        # A task that the grid has on several numbers of GPUs is one graph then.
        on_as_many = (replace(job, cell=replace(job.cell, gpus=gpus)) for job in kept)
        kept = list(one_each(on_as_many, gpus))
    made = make_placer(kept[0].placer, kept[0].parameters)
    if policy_path(made) is not None:
        raise InputError(f"{label} starts from a policy; leave that out, or train another placer")
    if evaluations is not None:
        kept = [replace(job, max_evaluations=evaluations, max_seconds=None) for job in kept]
    if any(job.max_seconds is not None for job in kept):
        raise InputError(
            f"{grid.name} has seconds in its budget, which graphs that learn in turn would share;"
            " give --evaluations N, of each graph"
        )
    if any(job.max_evaluations is None for job in kept):
        raise InputError(f"{grid.name} has no budget; give --evaluations N, of each graph")
    return tuple(kept)


def _placer_label(grid: Grid, asked: str | None) -> str:
    """The label of the placer to train."""
    labels = {job.cell.placer: job for job in grid.jobs}
    able = [label for label, job in labels.items() if _is_learner(job)]
    if asked is not None and asked not in labels:
        raise unknown(asked, f"placer of {grid.name}", labels)
    if asked is not None and asked not in able:
        raise InputError(f"{asked} cannot be trained on several graphs; {_those(able)}")
    if asked is None and len(able) != 1:
        raise InputError(f"name the placer to train, --placer; {_those(able)}")
    return able[0] if asked is None else asked


def _is_learner(job: Job) -> bool:
    placer = make_placer(job.placer, job.parameters)
    return policy_field(placer) is not None and hasattr(placer, "train")


def _those(able: Sequence[str]) -> str:
    return f"those of the grid that can: {', '.join(able) or 'none'}"


@dataclass(frozen=True, eq=False)
class _Subject:
    """What a policy is trained on: a job's graph, or a variant of it."""

    job: Job
    problem: Problem
    task: str
    """The task's name; a variant's has its number."""


def _subjects(jobs: Sequence[Job], variants: int) -> list[_Subject]:
    """Each job's graph, followed by so many variants of it."""
    found = []
    for job in jobs:
        problem, task = problem_of(job), job.cell.task
        found.append(_Subject(job, problem, task))
        for number in range(1, variants + 1):
            other = variant(problem, number, job.cell.derived_seed(job.base_seed))
            found.append(_Subject(job, other, f"{task} (variant {number})"))
    return found


def _identity(subjects: Sequence[_Subject]) -> str:
    """Digest of all that decides the policy that these subjects make."""
    settings = [
        {
            "graph": one.problem.graph.fingerprint,
            "machine": one.problem.machine.fingerprint,
            "seed": one.job.cell.derived_seed(one.job.base_seed),
            "semantics": [one.job.semantics, SEMANTICS_VERSION],
            "evaluations": one.job.max_evaluations,
            "seconds": one.job.max_seconds,
            **({} if (judge := judging_of(one.job)) is None else {"judge": judge}),
        }
        for one in subjects
    ]
    job = subjects[0].job
    placer = make_placer(job.placer, job.parameters)
    own = [job.placer, chosen(placer), _code(job), job.base_seed]
    return digest([json.dumps([own, settings], sort_keys=True)])


def _code(job: Job) -> str:
    modules = placer_modules(job.placer, make_placer(job.placer, job.parameters))
    return str(code_of_modules(*modules)["digest"])


def checkpoint_path(output: Path) -> Path:
    """Where a training of this policy file that was stopped is taken up."""
    return output.with_name(f"{output.name}.checkpoint.npz")


def train(
    jobs: Sequence[Job],
    output: Path,
    interval: float,
    listener: Listener | None = None,
    variants: int = 0,
) -> tuple[PolicyFile, bool]:
    """Train on the jobs' graphs and write the policy; go on where a killed training was.

    Beside each graph it is trained on so many variants of it (:mod:`suite.bench.variants`), each
    with the budget of the graph's job. Its state is saved every ``interval`` seconds beside
    ``output``. Returns the policy, and whether it was there already. InputError where the file is
    there and is another policy, or none, and where that state is of another training: hours of
    training are not written over.
    """
    subjects = _subjects(jobs, variants)
    identity = _identity(subjects)
    if output.exists():
        found = PolicyFile.load(output)
        if found.identity != identity:
            raise InputError(
                f"{output} was trained on other graphs, with other settings or by other code; move"
                " it away, or write another file"
            )
        return found, True
    saved = Checkpoint(checkpoint_path(output), identity, interval)
    if saved.is_of_another:
        raise InputError(
            f"{saved.path} is of a training with other settings or by other code; give its settings"
            " to go on with it, delete it, or write another file"
        )
    searches = [search_of(one.job, one.problem, _journal(one, listener)) for one in subjects]
    for one in subjects:
        if not one.problem.graph.n_ops:
            raise InputError(f"{one.task} has no operations; leave it out, --without")
    placer: Any = make_placer(jobs[0].placer, jobs[0].parameters)
    learned = cast(Learner, placer).train(Training(searches, jobs[0].base_seed, saved))
    policy = _policy(subjects, searches, learned, asdict(placer), identity)
    policy.save(output)
    saved.remove()
    return policy, False


def _journal(subject: _Subject, listener: Listener | None) -> Journal:
    name = f"{subject.task} on {subject.job.cell.gpus} GPUs"
    return Journal(listener=None if listener is None else partial(listener, name))


def _policy(
    subjects: Sequence[_Subject],
    searches: Sequence[Search],
    learned: Learned,
    settings: dict[str, Any],
    identity: str,
) -> PolicyFile:
    job = subjects[0].job
    processor = max(search.clock.processor for search in searches)
    return PolicyFile(
        planner=job.placer,
        settings=settings,
        vocabulary=learned.vocabulary,
        lessons=tuple(map(_lesson, subjects, searches)),
        seed=job.base_seed,
        weights=learned.weights,
        answers=tuple(map(_answer, searches)),
        code=_code(job),
        identity=identity,
        notes={"provenance": provenance(), "cpu_seconds": round(processor, 3)},
    )


def _lesson(subject: _Subject, search: Search) -> Lesson:
    cell, problem = subject.job.cell, search.problem
    return Lesson(
        task=subject.task,
        graph=problem.graph.fingerprint,
        machine=cell.machine,
        gpus=cell.gpus,
        devices=problem.machine.n_devices,
        devices_fingerprint=problem.machine.fingerprint,
        evaluations=search.evaluations,
        best_time=None if search.best is None else search.best_time,
    )


def _answer(search: Search) -> NDArray[np.uint8] | None:
    return None if search.best is None else np.asarray(search.best.devices, np.uint8)
