"""Records: every judgement as one JSON file, with its placement in an npz beside it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from suite.bench.cell import Cell
from suite.core.arrays import Ints, digest
from suite.core.errors import InputError
from suite.formats.atomic import atomic
from suite.formats.json_file import read_json, sayable, write_json
from suite.formats.recorded_placement import RECORD, read_devices
from suite.formats.schema import shown

FORMAT = RECORD
STATUSES = ("ok", "oom", "invalid", "timeout", "error", "skipped")
AGAIN = ("error", "timeout")
"""Those of cells that the next ``bench`` tries again: their search goes on from its checkpoint."""
RECORDS = "*/*/*gpu/*/*/seed*.json"
"""Where the records lie below a results folder, as a glob pattern."""

_KINDS: dict[str, type] = {
    **dict.fromkeys(("backend", "semantics", "fingerprint"), str),
    **dict.fromkeys(("budget", "parameters", "planner", "graph", "under_semantics"), dict),
    **dict.fromkeys(("simulated", "judge", "measure_top"), dict),
    **dict.fromkeys(("step_times", "history"), list),
}
"""Of what kind fields are, where one of another kind would stop who reads it."""
_NUMBERS = ("step_time", "lower_bound", "wall_seconds", "cpu_seconds", "evaluations")
"""Fields that are a number >= 0, or null."""
_WORDS: dict[type, str] = {str: "text", dict: "an object", list: "a list"}

Record = dict[str, Any]
"""The fields are listed in docs/formats.md."""


def check_results(results: Path) -> None:
    """Raise InputError where there is no such folder."""
    if not results.is_dir():
        raise InputError(f"{results} is no folder; give a results folder, as bench --output does")


def records_below(results: Path) -> list[Path]:
    """The record given, or all those somewhere below a folder, sorted.

    Where results are laid out as bench does, a folder may be a link to one on another disk.
    """
    if results.is_file():
        return [results]
    patterns = ["/".join(RECORDS.split("/")[level:]) for level in range(RECORDS.count("/"))]
    linked = (path for pattern in patterns for path in results.glob(pattern))
    return sorted({*results.rglob("seed*.json"), *linked})


def read_record(path: Path) -> Record:
    """Read a whole record.

    InputError if it is truncated, of another format, has no status, a time or another number that
    is none, or a field of a kind that it never has.
    """
    record = read_json(path, FORMAT)
    if record.get("status") not in STATUSES:
        raise InputError(f"{path}: status is {record.get('status')!r}; delete it and run again")
    for name, kind in _KINDS.items():
        if name in record and not isinstance(record[name], kind):
            raise _not_usable(path, name, record[name], _WORDS[kind])
    code = record.get("code")
    if code is not None and not (isinstance(code, dict) and isinstance(code.get("digest"), str)):
        raise _not_usable(path, "code", code, "an object with a digest")
    numbers = [(name, record.get(name)) for name in _NUMBERS]
    for name, value in (*numbers, *(("step_time", one) for one in record.get("step_times", ()))):
        if value is not None and not _is_amount(value):
            raise _not_usable(path, name, value, "a number >= 0")
    return record


def _is_amount(value: object) -> bool:
    """Whether a value is a number of seconds, say. NaN would be neither slower nor missing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= sys.float_info.max


def _not_usable(path: Path, name: str, value: object, words: str) -> InputError:
    return InputError(f"{path}: {name} is {shown(value)}, not {words}; delete it and run again")


def cell_of(record: Record, path: Path, results: Path) -> Cell:
    """The cell of the record at ``path``; InputError unless it lies where its cell does.

    A copied folder would count every seed twice.
    """
    try:
        cell = Cell(**record["cell"])
    except (KeyError, TypeError):
        cell = None
    # A seed that is text has the same path, and would be another cell.
    if cell is None or type(cell.gpus) is not int or type(cell.seed) is not int:
        raise InputError(f"{path} does not say which cell it is; delete it and run again")
    if cell.path(results) != path:
        raise InputError(
            f"{path} is the record of {cell.name}, a copy or moved; delete it or move it back"
        )
    return cell


def write_record(record: Record, devices: Ints | None, path: Path) -> None:
    """Write the placement (int[ops]), then the record; the record makes the cell finished.

    Without a placement, one of an earlier run goes first: it is not that of this record.
    """
    if devices is None:
        path.with_suffix(".npz").unlink(missing_ok=True)
    else:
        narrow = np.min_scalar_type(int(np.max(devices, initial=0)))
        with atomic(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, devices=np.asarray(devices, narrow))
    write_json(sayable(record), path)


def finished(path: Path, fingerprint: str, code: str | None) -> tuple[Record | None, str]:
    """Return the record of a finished cell, or None and why it must run (again).

    ``code`` is the digest of today's code; None keeps records of whatever code, those of unknown
    code among them. The reason is ``missing``, ``damaged`` (it, or its placement, is not whole),
    ``changed`` (made under other settings: another fingerprint), ``code`` (made by other or unknown
    code) or ``failed`` (an ``error`` or a ``timeout``).
    """
    if not path.exists():
        return None, "missing"
    try:
        record = read_record(path)
    except InputError:
        return None, "damaged"
    if record.get("fingerprint") != fingerprint:
        return None, "changed"
    if code not in (None, digest_of_code(record)):
        return None, "code"
    if "placement_hash" in record:
        try:
            whole = digest([read_devices(path)]) == record["placement_hash"]
        except InputError:
            whole = False
        if not whole:
            return None, "damaged"
    return (None, "failed") if record["status"] in AGAIN else (record, "")


def ended_by_clock(record: Record) -> bool:
    """Whether a limit in seconds, of the grid or among its parameters, may have ended a search.

    The grid's cannot where the placer had nothing judged: only judging looks at that clock.
    """
    searched = record.get("evaluations") != 0
    of_grid = searched and (record.get("budget") or {}).get("seconds")
    return bool(of_grid or (record.get("parameters") or {}).get("seconds"))


def keep(record: Record, code: str, path: Path) -> Record:
    """Mark a record that is kept although it was made by other code than ``code``, today's.

    ``code.kept`` is the digest of the code that it was kept beside, for the tables' footnotes. It
    goes away when that code is back. A record of unknown code stays as it is.
    """
    made_by = record.get("code")
    if not made_by:
        return record
    mark = {} if made_by["digest"] == code else {"kept": code}
    marked = {name: part for name, part in made_by.items() if name != "kept"} | mark
    if marked != made_by:
        record = record | {"code": marked}
        write_json(record, path)
    return record


def digest_of_code(record: Record) -> str:
    """The digest of the code that made a record; "" where that is unknown."""
    code = record.get("code")
    return str(code["digest"]) if code else ""


def deterministic_part(record: Record) -> Record:
    """The record without clocks and provenance: the same on every run of the same settings."""
    passing = ("wall_seconds", "cpu_seconds", "workers", "threads", "provenance")
    kept = {k: v for k, v in record.items() if k not in passing}
    kept["history"] = [[n, best] for n, _, best in record.get("history", [])]
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]
