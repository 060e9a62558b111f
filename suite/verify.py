"""Re-simulates recorded placements and compares them bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from suite.cell import SIMULATOR
from suite.errors import InputError
from suite.placement import Placement
from suite.problem import Problem
from suite.record import Record, read_devices, read_record
from suite.run import judged, kept_graph, make_problem


def verify(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and what differs ("" where every bit agrees).

    ``results`` is a folder with records somewhere below it, or one record. A file that is no whole
    record differs too.
    """
    paths = [results] if results.is_file() else sorted(results.rglob("seed*.json"))
    for path in paths:
        try:
            record = read_record(path)
            if record["status"] in ("ok", "oom") and record.get("backend") == SIMULATOR:
                yield path, _difference(record, path)
        except InputError as error:
            yield path, str(error)


def _difference(record: Record, path: Path) -> str:
    problem = _problem(record, path)
    if problem.graph.fingerprint != record["graph"]["fingerprint"]:
        return "the graph is another one now (model, TensorFlow or capture have changed)"
    again = judged(problem, Placement.of(problem, read_devices(path)))
    if again["placement_hash"] != record["placement_hash"]:
        return "the placement beside it is not the recorded one"
    again = json.loads(json.dumps(again))
    wrong = [name for name in again if again[name] != record.get(name)]
    if "step_time" in wrong:
        return f"step_time is {again['step_time']}, recorded {record['step_time']}"
    return f"simulated again, {', '.join(wrong)} differ" if wrong else ""


def _problem(record: Record, path: Path) -> Problem:
    """The recorded problem; InputError if the record does not name one."""
    try:
        cell, graph = record["cell"], record["graph"]["fingerprint"]
        kept = kept_graph(path.absolute().parents[4], cell["task"], graph)
        file = str(kept) if kept.exists() else None
        return make_problem(cell["task"], cell["machine"], cell["gpus"], file)
    except (KeyError, TypeError, IndexError):
        raise InputError(f"{path} does not name its problem; run the cell again") from None
