"""Re-simulates recorded placements: compares them bit for bit, or under other semantics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from suite.bench.judge import judged
from suite.bench.record import Record, read_devices
from suite.bench.recorded import each_record, has_placement, recorded_problem
from suite.core.placement import Placement
from suite.formats.json_file import write_json


def verify(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and what differs ("" where every bit agrees).

    ``results`` is a folder with records somewhere below it, or one record. A file that is no whole
    record differs too. ``under_semantics`` may lack semantics: see :func:`rescore`.
    """
    yield from each_record(results, has_placement, difference)


def difference(record: Record, path: Path) -> str:
    """What simulating the placement of the record at ``path`` gives otherwise; "": nothing."""
    return _difference(record, _judged_again(record, path))


def rescore(results: Path) -> Iterator[tuple[Path, str]]:
    """Add to records how their placements fare under every semantics, where they do not say.

    Yields every record with a placement and ``added``, ``there``, or why it is left as it is: it
    does not :func:`verify`. Nothing else in a record changes.
    """
    yield from each_record(results, has_placement, _rescored)


def _rescored(record: Record, path: Path) -> str:
    again = _judged_again(record, path)
    wrong = _difference(record, again)
    if wrong or record.get("under_semantics") == again["under_semantics"]:
        return wrong or "there"
    write_json(record | {"under_semantics": again["under_semantics"]}, path)
    return "added"


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
