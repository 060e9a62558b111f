"""Records and published numbers as data frames, the only input of tables and plots."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from suite.errors import InputError

CELL = ("grid", "machine", "gpus", "task", "placer", "seed")
FIELDS = (
    *("backend", "semantics", "fingerprint", "status", "reason", "step_time", "step_times"),
    *("peak_memory", "capacity", "busy", "moved", "oom", "lower_bound", "bound_kind"),
    *("evaluations", "wall_seconds", "cpu_seconds", "history", "utilisation"),
    *("parameters", "graph", "provenance"),
)
PUBLISHED = (
    *("paper", "table", "task", "printed_task", "gpus"),
    *("column", "value", "unit", "status", "evidence"),
)


def load_records(results: Path) -> pd.DataFrame:
    """Read every record under ``results``: one row each, sorted by cell.

    Columns are CELL and FIELDS (the names and units of the record); mappings and lists stay as
    they are; a missing step time or bound is NaN. InputError names a file that is not a record.
    """
    rows = [_row(path) for path in sorted(results.glob("*/*/*gpu/*/*/seed*.json"))]
    frame = pd.DataFrame(rows, columns=[*CELL, *FIELDS])
    for name in ("step_time", "lower_bound", "wall_seconds", "cpu_seconds"):
        frame[name] = frame[name].astype("float64")
    return frame.sort_values(list(CELL), ignore_index=True)


def _row(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_text())
        cell = record["cell"]
        return {name: cell[name] for name in CELL} | {name: record.get(name) for name in FIELDS}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not a whole record ({error!r}); delete it and run again"
        ) from error


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
