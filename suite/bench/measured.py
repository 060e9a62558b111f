"""The fields of a record that follow from running its placement for real."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.cell import Job
from suite.bench.measure_top import measure, timing_within
from suite.bench.record import Record
from suite.capture.load_model import load_file
from suite.capture.options import Options
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.execution.backends import open_backend
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.real_judge import RealJudge
from suite.execution.steps import step_of, step_of_task
from suite.search.best_answers import BestAnswers, candidates
from suite.simulator.judges import AnySimulator


def measured(job: Job, problem: Problem, placement: Placement, simulated: Record) -> Record:
    """Run a placement; the fields of a record, with what the simulator said under ``simulated``.

    Raises InputError where this host cannot be the cell's machine.
    """
    timing = Timing() if job.timeout is None else Timing(timeout=job.timeout)
    result = backend_of(job).measure(step_of_job(job), np.asarray(placement.devices), timing)
    names = [device.name for device in problem.machine.devices]
    peaks = zip(names, result.peak_memory or (None,) * len(names), strict=True)
    kept = ("step_time", "peak_memory", "busy", "moved", "oom")
    return {
        "status": result.status,
        "reason": result.reason,
        "step_time": result.step_time,
        "step_times": list(result.kept),
        "discarded": list(result.step_times[: result.discarded]),
        "peak_memory": {name: peak for name, peak in peaks if peak is not None},
        "memory_source": result.memory_source,
        "virtual": result.virtual,
        "busy": _busy(result, names),
        "oom": [],
        "placement_hash": placement.hash,
        "simulated": {"semantics": job.semantics} | {name: simulated[name] for name in kept},
        **_of_openvino(result, names),
    }


def _of_openvino(result: Measurement, names: list[str]) -> Record:
    """How a network's outputs compare with those of each device alone, and in how many parts."""
    if result.parts is None:
        return {}
    return {"outputs_against": result.outputs_against(names), "parts": result.parts}


def fastest(
    job: Job, problem: Problem, answer: Placement, best: BestAnswers
) -> tuple[Placement, Record]:
    """Run the best answers of a job's search; the fastest, and what the record says of them.

    Raises InputError where this host cannot be the cell's machine.
    """
    settings = job.measure_top
    assert settings is not None
    asked = candidates(problem, answer, best)
    found = measure(asked, backend_of(job), step_of_job(job), settings, job.timeout)
    return found.placement, found.as_record()


def real_judge(job: Job, problem: Problem, simulator: AnySimulator) -> RealJudge:
    """What judges a job's search by real runs; InputError where this host is not the machine."""
    return RealJudge(simulator, backend_of(job), step_of_job(job), timing_within(job.timeout))


def backend_of(job: Job) -> Backend:
    """The backend of a job, kept open; InputError where this host cannot be its machine."""
    cell = job.cell
    return open_backend(job.backend, cell.machine, cell.gpus, job.cluster_file, job.expose)


def step_of_job(job: Job) -> Step:
    """What a job's placements are run as; InputError where nothing can be run."""
    return _step(job.cell.task, job.graph_file, job.backend)


@lru_cache(maxsize=2)
def _step(task: str, graph_file: str | None, backend: str) -> Step:
    if graph_file is None:
        return step_of_task(task, backend)
    return step_of(load_file(Path(graph_file)), backend, graph_file, Options())


def _busy(result: Measurement, names: list[str]) -> dict[str, float]:
    """Seconds that operations ran on each device in the traced step; empty without one."""
    if not result.traces:
        return {}
    trace = result.traces[-1]
    ran = np.array([name != "RecvTensor" for name in trace.names], np.bool_)
    seconds: Any = trace.end - trace.start
    return {n: float(seconds[ran & (trace.devices == d)].sum()) for d, n in enumerate(names)}
