"""Records and published numbers as data frames, the only input of tables and plots."""

from __future__ import annotations

from collections.abc import Iterable
from math import nan
from pathlib import Path
from typing import Any

import pandas as pd

from suite.bench.cell import Cell
from suite.bench.record import RECORDS, cell_of, check_results, read_record
from suite.core.errors import InputError
from suite.core.paths import published_folder

CELL = ("grid", "machine", "gpus", "task", "placer", "seed")
_TEXTS = ("backend", "semantics", "status", "reason", "bound_kind", "placement_hash", "code")
_NUMBERS = (
    *("step_time", "lower_bound", "wall_seconds", "cpu_seconds", "evaluations"),
    "planned",
    "parts",
)
_LISTS = ("step_times", "rounds", "outputs", "history", "oom")
_MAPPINGS = (
    *("peak_memory", "capacity", "busy", "moved", "utilisation", "under_semantics"),
    *("parameters", "planner", "graph", "code", "provenance", "simulated", "breakdown"),
    *("outputs_against", "policy"),
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


def load_records(results: str | Path) -> pd.DataFrame:
    """Read every record below ``results``, a folder of any name: one row each, sorted by cell.

    Columns are CELL, FIELDS (names and units of docs/formats.md; mappings and lists stay as they
    are) and ``path``, the record's file; ``code`` is empty where it is unknown which code made the
    record. InputError when there is no such folder, and names a file that is not a whole record.
    """
    results = Path(results)
    check_results(results)
    rows = [_row(path, results) for path in sorted(results.glob(RECORDS))]
    frame = pd.DataFrame(rows, columns=[*CELL, *FIELDS, "path"])
    return frame.sort_values(list(CELL), ignore_index=True)


def _row(path: Path, results: Path) -> dict[str, Any]:
    record = read_record(path)
    cell = vars(cell_of(record, path, results))
    known = {name: value for name, value in record.items() if name in FIELDS and value is not None}
    return {name: cell[name] for name in CELL} | FIELDS | known | {"path": str(path)}


def of_cells(records: pd.DataFrame, cells: Iterable[Cell]) -> pd.DataFrame:
    """Those rows of :func:`load_records` that are of ``cells``: a grid may run elsewhere, too."""
    wanted = {tuple(vars(cell)[name] for name in CELL) for cell in cells}
    found = zip(*(records[name] for name in CELL), strict=True)
    return records[pd.Series([key in wanted for key in found], records.index, bool)]


def load_published() -> pd.DataFrame:
    """Read ``results/published/*.csv``, which come with the package: one row a printed number.

    Columns are PUBLISHED (results/published/README.md says what they mean) and ``printed``, the
    digits as printed; ``value`` is float64, NaN unless status is ``ok``; ``gpus`` is 0 where the
    paper prints one value for all counts.
    """
    files = sorted(published_folder().glob("*.csv"))
    return pd.concat([read_published(path) for path in files], ignore_index=True)


def read_published(path: Path) -> pd.DataFrame:
    """Read one of these files; InputError, with the line, for what is no number."""
    whole = pd.read_csv(path, dtype=str, keep_default_na=False)
    for name in PUBLISHED:
        if name not in whole:
            raise InputError(f"{path} has no column {name!r}; see the README.md beside it")
    frame = whole[list(PUBLISHED)].assign(printed=whole["value"])
    frame["value"] = _numbers(path, "value", whole["value"])
    frame["gpus"] = _numbers(path, "gpus", whole["gpus"].replace("", "0")).astype("int64")
    return frame


def _numbers(path: Path, name: str, texts: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(texts, errors="coerce")
    for at in texts.index[numbers.isna() & (texts != "")][:1]:
        raise InputError(
            f"{path}, line {at + 2}: {name} is {texts[at]!r}; give a number or nothing"
        )
    return numbers
