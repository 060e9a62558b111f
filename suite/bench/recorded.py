"""Goes through records that were made, one at a time, with the job and the problem of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

from suite.bench.cell import SIMULATOR, Cell, Job, MeasureTop, judging
from suite.bench.fingerprint import fingerprint
from suite.bench.load_problem import kept_graph, make_problem
from suite.bench.record import Record, read_record, records_below
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.formats.measured_costs import machine_of_records
from suite.search.registry import failure, placer_class
from suite.simulator.judges import own_semantics

Outcome = Callable[[Record, Path], str]
"""Looks at a record, perhaps writes it anew, and says what came of it; or raises InputError."""


def each_record(
    results: Path, wanted: Callable[[Record], bool], outcome: Outcome
) -> Iterator[tuple[Path, str]]:
    """Yield every wanted record and its outcome, or why there is none.

    ``results`` is a folder with records somewhere below it, or one record. A file that is no whole
    record is yielded too.
    """
    for path in records_below(results):
        try:
            record = read_record(path)
            if wanted(record):
                yield path, outcome(record, path)
        except InputError as error:
            yield path, str(error)
        except KeyError as error:
            yield path, f"the record has no {error}; delete it and run again"
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            # Somewhere within it: what has a field of another kind is not read at all.
            yield path, f"the record is not usable ({failure(error)}); delete it and run again"


def has_placement(record: Record) -> bool:
    """Whether a record is of a placement that the simulator judged."""
    return was_simulated(record) and record.get("backend") == SIMULATOR


def was_simulated(record: Record) -> bool:
    """Whether a record says what the simulator makes of its placement, run for real or not."""
    simulated = record.get("backend") == SIMULATOR or "simulated" in record
    return simulated and record["status"] in ("ok", "oom")


def recorded_problem(record: Record, path: Path) -> Problem:
    """The problem of the record at ``path``; InputError if it names none or it has changed."""
    try:
        cell, graph = record["cell"], record["graph"]["fingerprint"]
        file = _graph_file(record, path)
        machine = machine_beside(path, cell["machine"])
        problem = make_problem(cell["task"], machine, cell["gpus"], file)
    except (KeyError, TypeError, IndexError):
        raise InputError(f"{path} does not name its problem; run the cell again") from None
    if problem.graph.fingerprint != graph:
        raise InputError("the graph is another one now (model, TensorFlow or capture have changed)")
    return problem


def machine_beside(path: Path, name: str) -> str:
    """The machine of the record at ``path``: a profile's lies beside it, and need not be here."""
    return machine_of_records(path.absolute().parents[3], name)


def check_same_settings(record: Record, path: Path) -> None:
    """Raise InputError unless the record at ``path`` was made with the settings found now.

    The machine that lies beside it may be a later profile's, and one of placebench may have been
    mended since: what follows from that machine is nothing to add to this record.
    """
    job = recorded_job(record, path)
    machine = machine_beside(path, job.cell.machine)
    if fingerprint(job, machine) != record["fingerprint"]:
        raise InputError("its machine, or another setting, is not that of now; run the cell again")


def recorded_semantics(record: Record, problem: Problem) -> str:
    """By which semantics a record's placement was simulated.

    Of a real run its ``simulated`` says so; where it does not, it was by the machine's own.
    """
    if record.get("backend") == SIMULATOR:
        return str(record["semantics"])
    named = record.get("simulated", {}).get("semantics")
    return str(named or own_semantics(problem.machine).name)


def recorded_job(record: Record, path: Path) -> Job:
    """The job that a record was made by; InputError where the record does not say it all."""
    try:
        settable = {f.name for f in fields(placer_class(record["placer"])) if f.init}
        return Job(
            Cell(**record["cell"]),
            record["placer"],
            {name: v for name, v in record["parameters"].items() if name in settable},
            _graph_file(record, path),
            record["base_seed"],
            record["budget"]["evaluations"],
            record["budget"]["seconds"],
            None,
            record["semantics"],
            backend=record["backend"],
            judge=judging(record["judge"]) if "judge" in record else None,
            measure_top=MeasureTop(**record["measure_top"]) if "measure_top" in record else None,
        )
    except (KeyError, TypeError, IndexError):
        raise InputError("the record does not say how it was made; run the cell again") from None


def _graph_file(record: Record, path: Path) -> str | None:
    """Where the results keep the graph of a task that was given as a file; None for other tasks."""
    grid, task = path.absolute().parents[4], record["cell"]["task"]
    kept = kept_graph(grid, task, record["graph"]["fingerprint"])
    return str(kept) if kept.exists() else None
