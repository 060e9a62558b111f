"""Latency answers for coarsened tasks, judged by the simulator as placements of operations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from suite.bench.cell import SIMULATOR, Cell
from suite.bench.judge import judged
from suite.bench.load_problem import kept_graph
from suite.bench.provenance import provenance
from suite.bench.record import FORMAT, Record, write_record
from suite.formats.interchange import write_graph
from suite.simulator.semantics import PLACEBENCH
from suite.tarnawski.placements import problem_of, turned_back
from suite.tarnawski.records import answer_code, fingerprint
from suite.tarnawski.run import Answer
from suite.tarnawski.workload import Question

GRID = "tarnawski_placements"


def judge(results: Path, name: str, question: Question, answer: Answer) -> Record | None:
    """Simulate a step under an answer and record it as TASK's placer ``ALGORITHM_PASS``.

    Returns None, and writes nothing, where the workload is not of a task or a graph file on a
    machine that has a name: a record names its problem. Raises InputError as
    :func:`suite.tarnawski.placements.problem_of` does. The lower bound is left to the records of
    the same problem that have it.
    """
    origin = question.workload.origin
    if origin is None or not origin.task or Path(origin.machine).suffix:
        return None
    problem = problem_of(question.workload)
    placement = turned_back(problem, question.workload, answer.split)
    label = f"{name}_{variant(question)}"
    cell = Cell(GRID, origin.machine, origin.gpus, origin.task, label, question.seed)
    graph = problem.graph
    record: Record = {
        "format": FORMAT,
        "cell": cell.as_dict(),
        "backend": SIMULATOR,
        "semantics": PLACEBENCH.name,
        "fingerprint": fingerprint(replace(question, expert=None)),
        "code": answer_code(name),
        "parameters": {"gap": question.gap, "seconds": question.seconds, "calls": question.calls},
        "planner": {
            "workload": question.workload.name,
            "promised": answer.objective / 1e3,
            "answer": answer.status,
        },
        "wall_seconds": answer.seconds,
        "graph": {"name": graph.name, "ops": graph.n_ops, "fingerprint": graph.fingerprint},
        "capacity": {d.name: d.memory for d in problem.machine.devices},
        **judged(problem, placement, PLACEBENCH.name),
        "provenance": provenance(),
    }
    if origin.file:
        write_graph(graph, kept_graph(results / GRID, origin.task, graph.fingerprint))
    write_record(record, np.asarray(placement.devices), cell.path(results))
    return record


def variant(question: Question) -> str:
    """``training`` or ``inference``, and ``_gpus`` where no CPU may be used."""
    origin = question.workload.origin
    assert origin is not None
    return ("inference" if origin.inference else "training") + (
        "" if question.workload.cpus else "_gpus"
    )
