"""Answers as JSON and as records, from which the tables are made."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.cell import Cell
from suite.bench.made_by import code_of_modules
from suite.bench.provenance import provenance
from suite.bench.record import FORMAT, Record, finished, write_record
from suite.core.arrays import digest
from suite.core.errors import Unsupported
from suite.core.source_digest import reached
from suite.tarnawski.evaluator import WrongClaim
from suite.tarnawski.run import Answer, algorithms
from suite.tarnawski.workload import Question

BACKEND = "workload"
"""Told apart from records of the simulator, which ``placebench verify`` simulates again."""
MACHINE = "workload"
ALGORITHMS, STARTS = "suite.tarnawski.algorithms", "suite.tarnawski.starts"


def described(question: Question, answer: Answer) -> dict[str, Any]:
    """The answer with its split by node id; times in ms, seconds of the algorithm in s."""
    workload = question.workload
    rate = workload.bandwidth
    return {
        "workload": workload.name,
        "algorithm": answer.algorithm,
        "objective_kind": question.objective,
        "objective": answer.objective,
        "unit": "ms",
        "status": answer.status,
        "bound": answer.bound,
        "gap": answer.gap,
        "seconds": answer.seconds,
        "contiguous": answer.contiguous,
        "oom": list(answer.score.oom),
        "implied_bandwidth": rate if isfinite(rate) else None,
        "split": _split(question, answer),
    }


def _split(question: Question, answer: Answer) -> dict[str, Any]:
    """As in the authors' files; ``stage`` numbers the calls of an accelerator."""
    workload, split = question.workload, answer.split
    parts = [
        {
            "load": answer.score.loads[device],
            "nodes": workload.ids[split.device == device].tolist(),
        }
        for device in range(workload.devices)
    ]
    calls = {int(i): int(s) for i, s in zip(workload.ids, split.stage, strict=True) if s > 0}
    k = workload.accelerators
    return {"fpgas": parts[:k], "cpus": parts[k:], "stage": calls}


def write(
    results: Path, name: str, question: Question, answer: Answer | Unsupported | WrongClaim
) -> Path:
    """Write ``tarnawski_OBJECTIVE/workload/Kgpu/WORKLOAD/ALGORITHM/seedN.json``, give its path."""
    record: Record = {
        "format": FORMAT,
        "cell": _cell(name, question).as_dict(),
        "backend": BACKEND,
        "semantics": f"tarnawski-{question.objective}",
        "fingerprint": fingerprint(question),
        "parameters": {"gap": question.gap, "seconds": question.seconds, "calls": question.calls},
        **_outcome(answer),
        "code": answer_code(name),
        "graph": _graph(question),
        "provenance": provenance(),
    }
    path = _cell(name, question).path(results)
    devices = answer.split.device if isinstance(answer, Answer) else None
    write_record(record, devices, path)
    return path


def recorded(results: Path, name: str, question: Question) -> Record | None:
    """The record of the same question, made by today's code; None where there is none.

    What ended in an error is asked again.
    """
    path = _cell(name, question).path(results)
    return finished(path, fingerprint(question), answer_code(name)["digest"])[0]


def fingerprint(question: Question) -> str:
    """16 hexadecimal digits of all that decides an answer but the code."""
    w, expert = question.workload, question.expert
    arrays = (w.ids, w.cpu, w.accelerator, w.size, w.backward, w.colour, w.edges, w.cost)
    limits = (w.name, w.accelerators, w.cpus, w.memory, question.objective, question.gap)
    options = (question.seconds, question.seed, question.calls, question.ideals)
    return digest([*arrays, *limits, *options, *(() if expert is None else (expert.device,))])


def _cell(name: str, question: Question) -> Cell:
    workload, grid = question.workload, f"tarnawski_{question.objective}"
    return Cell(grid, MACHINE, workload.accelerators, workload.name, name, question.seed)


def answer_code(name: str) -> Record:
    """The field ``code`` of an algorithm's records."""
    module = f"{ALGORITHMS}.{name}"
    # What starts from the answers of others finds them by name, which no import shows.
    others = (
        [f"{ALGORITHMS}.{other}" for other in algorithms()] if STARTS in reached(module) else ()
    )
    return code_of_modules(module, "suite.tarnawski.evaluator", *others)


def _outcome(answer: Answer | Unsupported | WrongClaim) -> dict[str, Any]:
    if not isinstance(answer, Answer):
        status = "skipped" if isinstance(answer, Unsupported) else "error"
        return {"status": status, "reason": str(answer)}
    return {
        "status": "oom" if answer.status == "oom" else "ok",
        "reason": "",
        "step_time": answer.objective / 1e3,
        "lower_bound": answer.bound / 1e3,
        "bound_kind": answer.status,
        "wall_seconds": answer.seconds,
        "planner": {"contiguous": answer.contiguous, "stages": int(answer.split.stage.max()) + 1},
    }


def _graph(question: Question) -> dict[str, Any]:
    workload = question.workload
    rate = workload.bandwidth
    return {
        "origin": None if workload.origin is None else workload.origin.as_dict(),
        "nodes": workload.nodes,
        "blocks": int(workload.colour.max()) + 1,
        "edges": len(workload.edges),
        "cpus": workload.cpus,
        "memory": workload.memory,
        "implied_bandwidth": rate if np.isfinite(rate) else None,
    }
