"""Re-simulates recorded placements: compares them bit for bit, or under other semantics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from suite.bench.judge import judged
from suite.bench.made_by import code_of
from suite.bench.record import Record, digest_of_code
from suite.bench.recorded import (
    check_same_settings,
    each_record,
    machine_beside,
    recorded_job,
    recorded_problem,
    recorded_semantics,
    was_simulated,
)
from suite.core.placement import Placement
from suite.formats.json_file import write_json
from suite.formats.recorded_placement import read_devices

OTHER_CODE = "made by other code"
OTHER_PLACEMENT = "the placement beside it is not the recorded one"


def verify(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and what differs ("" where every bit agrees).

    Of placements that ran for real that is what the record says of them under ``simulated``.
    ``results`` is a folder with records somewhere below it, or one record. A file that is no whole
    record differs too. ``under_semantics`` may lack semantics: see :func:`rescore`.
    """
    yield from each_record(results, was_simulated, difference)


def compare_code(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield every record with a placement and ``made by other code`` than today's, or "".

    Or why that cannot be told, as of a record that no placer made.
    """
    yield from each_record(results, was_simulated, _code)


def _code(record: Record, path: Path) -> str:
    job = recorded_job(record, path)
    machine = machine_beside(path, job.cell.machine)
    here = replace(job, cell=replace(job.cell, machine=machine))
    return "" if digest_of_code(record) == code_of(here)["digest"] else OTHER_CODE


def difference(record: Record, path: Path) -> str:
    """What simulating the placement of the record at ``path`` gives otherwise; "": nothing."""
    return _difference(record, _judged_again(record, path))


def rescore(results: Path) -> Iterator[tuple[Path, str]]:
    """Add to records how their placements fare under every semantics, where they do not say.

    Records of placements that ran for real get what today's simulator says of them, if the machine
    found is still theirs. Yields every record with a placement and ``changed``, ``same``, or why it
    is left as it is: it does not :func:`verify`, say. Nothing else in a record changes.
    """
    yield from each_record(results, was_simulated, _rescored)


def _rescored(record: Record, path: Path) -> str:
    again = _judged_again(record, path)
    wrong = _difference(record, again)
    if "simulated" in record:
        # What else is in a record of `placebench fidelity` needs the trace, which is not kept.
        if not wrong or wrong == OTHER_PLACEMENT or "breakdown" in record:
            return wrong or "same"
        check_same_settings(record, path)
        now = {"simulated": record["simulated"] | _known(again, record["simulated"])}
    else:
        now = {"under_semantics": again["under_semantics"]}
        if wrong or record | now == record:
            return wrong or "same"
    write_json(record | now, path)
    return "changed"


def _judged_again(record: Record, path: Path) -> Record:
    problem = recorded_problem(record, path)
    placement = Placement.of(problem, read_devices(path))
    semantics = recorded_semantics(record, problem)
    again: Record = json.loads(json.dumps(judged(problem, placement, semantics)))
    return again


def _difference(record: Record, again: Record) -> str:
    if again["placement_hash"] != record["placement_hash"]:
        return OTHER_PLACEMENT
    if "simulated" in record:
        said, again = record["simulated"], _known(again, record["simulated"])
    else:
        scored = record.get("under_semantics", {})
        known = {name: again["under_semantics"].get(name) for name in scored}
        said, again = record | {"under_semantics": scored}, again | {"under_semantics": known}
    wrong = [name for name in again if again[name] != said.get(name)]
    if "step_time" in wrong:
        return f"step_time is {again['step_time']}, recorded {said['step_time']}"
    return f"simulated again, {', '.join(wrong)} differ" if wrong else ""


def _known(again: Record, simulated: Record) -> Record:
    """Of what a simulation says that which a record of a real run keeps."""
    return {name: again[name] for name in simulated if name in again}
