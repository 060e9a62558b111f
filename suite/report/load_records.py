"""Records and published numbers as data frames, the only input of tables and plots."""

from __future__ import annotations

from math import nan
from pathlib import Path
from typing import Any

import pandas as pd

from suite.bench.record import RECORDS, read_record
from suite.core.errors import InputError

CELL = ("grid", "machine", "gpus", "task", "placer", "seed")
_TEXTS = ("backend", "semantics", "status", "reason", "bound_kind", "placement_hash")
_NUMBERS = (
    *("step_time", "lower_bound", "wall_seconds", "cpu_seconds", "evaluations"),
    "planned",
)
_LISTS = ("step_times", "history", "oom")
_MAPPINGS = (
    *("peak_memory", "capacity", "busy", "moved", "utilisation", "under_semantics"),
    *("parameters", "planner", "graph", "code", "provenance", "simulated", "breakdown"),
)
FIELDS: dict[str, Any] = {
    **dict.fromkeys(_TEXTS, ""),
    **dict.fromkeys(_NUMBERS, nan),
    **{name: [] for name in _LISTS},
    **{name: {} for name in _MAPPINGS},
    "virtual": False,
}
"""Fields of a record and what stands for them where a failed one has none."""
PUBLISHED = (
    *("paper", "table", "task", "printed_task", "gpus"),
    *("column", "value", "unit", "status", "evidence"),
)


def load_records(results: Path) -> pd.DataFrame:
    """Read every record under ``results``: one row each, sorted by cell.

    Columns are CELL, FIELDS (names and units of docs/formats.md; mappings and lists stay as they
    are) and ``path``, the record's file. InputError names a file that is not a whole record.
    """
    rows = [_row(path) for path in sorted(results.glob(RECORDS))]
    frame = pd.DataFrame(rows, columns=[*CELL, *FIELDS, "path"])
    return frame.sort_values(list(CELL), ignore_index=True)


def _row(path: Path) -> dict[str, Any]:
    record = read_record(path)
    cell = record.get("cell", {})
    if not set(CELL) <= set(cell):
        raise InputError(f"{path} does not say which cell it is; delete it and run again")
    known = {name: value for name, value in record.items() if name in FIELDS and value is not None}
    return {name: cell[name] for name in CELL} | FIELDS | known | {"path": str(path)}


def load_published(results: Path) -> pd.DataFrame:
    """Read ``results/published/*.csv``: one row a printed number.

    Columns are PUBLISHED (results/published/README.md says what they mean) and ``printed``, the
    digits as printed; ``value`` is float64, NaN unless status is ``ok``; ``gpus`` is 0 where the
    paper prints one value for all counts.
    """
    parts = [pd.read_csv(p, dtype=str, keep_default_na=False) for p in _csv_files(results)]
    frame = pd.concat(parts, ignore_index=True)[list(PUBLISHED)]
    frame["printed"] = frame["value"]
    frame["value"] = pd.to_numeric(frame["value"])
    frame["gpus"] = frame["gpus"].replace("", "0").astype("int64")
    return frame


def _csv_files(results: Path) -> list[Path]:
    files = sorted((results / "published").glob("*.csv"))
    if not files:
        raise InputError(f"{results / 'published'} holds no .csv; run in the project's folder")
    return files
