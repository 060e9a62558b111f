"""Re-simulates recorded placements: compares them bit for bit, or under other semantics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from suite.bench.cell import SIMULATOR
from suite.bench.record import Record, read_devices, read_record, records_below
from suite.bench.run_cell import judged, kept_graph, make_problem
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.json_file import write_json


def verify(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and what differs ("" where every bit agrees).

    ``results`` is a folder with records somewhere below it, or one record. A file that is no whole
    record differs too. ``under_semantics`` may lack semantics: see :func:`rescore`.
    """
    for path, _, _, wrong in _simulated_again(results):
        yield path, wrong


def rescore(results: Path) -> Iterator[tuple[Path, str]]:
    """Add to records how their placements fare under every semantics, where they do not say.

    Yields every record with a placement and ``added``, ``there``, or why it is left as it is: it
    does not :func:`verify`. Nothing else in a record changes.
    """
    for path, record, again, wrong in _simulated_again(results):
        if wrong or record.get("under_semantics") == again["under_semantics"]:
            yield path, wrong or "there"
        else:
            write_json(record | {"under_semantics": again["under_semantics"]}, path)
            yield path, "added"


def _simulated_again(results: Path) -> Iterator[tuple[Path, Record, Record, str]]:
    """Yield every record with a placement, what simulating that gives now, and what differs."""
    for path in records_below(results):
        record: Record = {}
        try:
            record = read_record(path)
            if record["status"] in ("ok", "oom") and record.get("backend") == SIMULATOR:
                again = _judged_again(record, path)
                yield path, record, again, _difference(record, again)
        except InputError as error:
            yield path, record, {}, str(error)


def _judged_again(record: Record, path: Path) -> Record:
    problem = recorded_problem(record, path)
    placement = Placement.of(problem, read_devices(path))
    again: Record = json.loads(json.dumps(judged(problem, placement, record["semantics"])))
    return again


def _difference(record: Record, again: Record) -> str:
    if again["placement_hash"] != record["placement_hash"]:
        return "the placement beside it is not the recorded one"
    scored = record.get("under_semantics", {})
    known = {name: again["under_semantics"].get(name) for name in scored}
    record, again = record | {"under_semantics": scored}, again | {"under_semantics": known}
    wrong = [name for name in again if again[name] != record.get(name)]
    if "step_time" in wrong:
        return f"step_time is {again['step_time']}, recorded {record['step_time']}"
    return f"simulated again, {', '.join(wrong)} differ" if wrong else ""


def recorded_problem(record: Record, path: Path) -> Problem:
    """The problem of the record at ``path``; InputError if it names none or it has changed."""
    try:
        cell, graph = record["cell"], record["graph"]["fingerprint"]
        kept = kept_graph(path.absolute().parents[4], cell["task"], graph)
        file = str(kept) if kept.exists() else None
        problem = make_problem(cell["task"], cell["machine"], cell["gpus"], file)
    except (KeyError, TypeError, IndexError):
        raise InputError(f"{path} does not name its problem; run the cell again") from None
    if problem.graph.fingerprint != graph:
        raise InputError("the graph is another one now (model, TensorFlow or capture have changed)")
    return problem
