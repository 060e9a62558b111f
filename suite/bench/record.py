"""Records: every judgement as one JSON file, with its placement in an npz beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.formats.atomic import atomic
from suite.formats.json_file import read_json, write_json

FORMAT = "placebench-record-1"
STATUSES = ("ok", "oom", "invalid", "timeout", "error", "skipped")
RECORDS = "*/*/*gpu/*/*/seed*.json"
"""Where the records lie below a results folder, as a glob pattern."""

Record = dict[str, Any]
"""The fields are listed in docs/formats.md."""


def records_below(results: Path) -> list[Path]:
    """The record given, or all those somewhere below a folder, sorted."""
    return [results] if results.is_file() else sorted(results.rglob("seed*.json"))


def read_record(path: Path) -> Record:
    """Read a whole record; InputError if it is truncated, of another format or has no status."""
    record = read_json(path, FORMAT)
    if record.get("status") not in STATUSES:
        raise InputError(f"{path}: status is {record.get('status')!r}; delete it and run again")
    return record


def write_record(record: Record, devices: Ints | None, path: Path) -> None:
    """Write the placement (int[ops]), then the record; the record makes the cell finished."""
    if devices is not None:
        with atomic(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, devices=np.asarray(devices, np.uint8))
    write_json(record, path)


def read_devices(path: Path) -> NDArray[np.int32]:
    """Read the placement beside a record: int32[ops]; InputError if it is missing or damaged."""
    beside = path.with_suffix(".npz")
    try:
        with np.load(beside, allow_pickle=False) as data:
            return np.asarray(data["devices"], np.int32)
    except Exception as error:
        raise InputError(f"{beside} is missing or damaged ({error}); run the cell again") from None


def finished(path: Path, fingerprint: str) -> tuple[Record | None, str]:
    """Return the record of a finished cell, or None and why it must run (again).

    The reason is ``missing``, ``damaged`` (not whole), ``changed`` (made under other settings:
    another fingerprint) or ``failed`` (an ``error`` or a ``timeout``).
    """
    if not path.exists():
        return None, "missing"
    try:
        record = read_record(path)
    except InputError:
        return None, "damaged"
    if record.get("fingerprint") != fingerprint:
        return None, "changed"
    return (None, "failed") if record["status"] in ("error", "timeout") else (record, "")


def deterministic_part(record: Record) -> Record:
    """The record without clocks and provenance: the same on every run of the same settings."""
    passing = ("wall_seconds", "cpu_seconds", "workers", "threads", "provenance")
    kept = {k: v for k, v in record.items() if k not in passing}
    kept["history"] = [[n, best] for n, _, best in record.get("history", [])]
    return json.loads(json.dumps(kept))  # type: ignore[no-any-return]
