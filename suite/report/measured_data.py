"""Records of grids that were run for real, as numbers beside their simulation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from suite.bench.cell import SIMULATOR, Cell
from suite.bench.grid import known_grids, planned_cells
from suite.core.statistics import Agreement
from suite.report import fidelity_data
from suite.report.fidelity_data import fullest_peaks, measured_seconds
from suite.report.recorded import machine_of

COLUMNS = (
    *("grid", "machine", "gpus", "task", "placer", "seed", "backend", "virtual"),
    *("status", "reason", "measured", "low", "high", "steps", "level"),
    *("simulated", "simulated_oom", "error_percent", "peak_memory", "simulated_peak_memory"),
    "placement_hash",
)


ELSEWHERE = ("hsdag_table4",)
"""Grids run for real on another host than the machine that they simulate: to compare what is
computed, in a table of their own, not how long it takes."""


def for_real(records: pd.DataFrame) -> pd.DataFrame:
    """The records of grids that a real backend ran; their grids' names end in ``@BACKEND``.

    Without those of ELSEWHERE.
    """
    real = records["backend"] != SIMULATOR
    ran = records[real & records["grid"].str.contains("@", regex=False)]
    return ran[~ran["grid"].str.split("@").str[0].isin(ELSEWHERE)]


def measured(records: pd.DataFrame) -> pd.DataFrame:
    """One row a record of a grid run for real, with COLUMNS, in the order of the grids.

    ``grid`` is without its backend. Step times in seconds: ``measured`` is the median of the kept
    steps, ``low``, ``high`` and ``level`` its interval over ``steps`` steps (their range below
    six), ``simulated`` what the simulator says of the same placement (``simulated_oom``: that it
    does not fit); ``error_percent`` is 100 (simulated - measured) / measured. Peak memory in bytes,
    of the device that was fullest in reality. NaN where there is no such number.
    """
    rows = [_row(row) for _, row in for_real(records).iterrows()]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    place = {name: i for i, name in enumerate(_planned_names(frame["grid"]))}
    names = zip(*(frame[c] for c in _CELL), strict=True)
    order = pd.Series([place.get(name, len(place)) for name in names], frame.index, dtype=int)
    keys = ["grid", "machine", "order", "gpus", "task", "placer", "seed", "backend"]
    return frame.assign(order=order).sort_values(keys, ignore_index=True).drop(columns="order")


_CELL = ("grid", "gpus", "task", "placer", "seed")


def _planned_names(grids: Iterable[str]) -> list[tuple[Any, ...]]:
    cells = [cell for grid in sorted(set(grids)) for cell in _planned(grid)]
    return [tuple(getattr(cell, name) for name in _CELL) for cell in cells]


def _planned(grid: str) -> tuple[Cell, ...]:
    return planned_cells(grid) if grid in known_grids() else ()


def _row(record: pd.Series) -> tuple[object, ...]:
    simulated = record["simulated"].get("step_time", np.nan)
    seconds, interval = measured_seconds(record)
    peak, thought = fullest_peaks(record["simulated"].get("peak_memory", {}), record["peak_memory"])
    grid = str(record["grid"]).rpartition("@")[0]
    cell = (grid, *(record[c] for c in ("machine", "gpus", "task", "placer", "seed")))
    outcome = (record[c] for c in ("backend", "virtual", "status", "reason"))
    oom, error = bool(record["simulated"].get("oom")), 100 * (simulated - seconds) / seconds
    spread = (interval.low, interval.high, len(record["step_times"]), interval.level)
    times = (seconds, *spread, simulated, oom, error)
    return (*cell, *outcome, *times, peak, thought, record["placement_hash"])


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Those that were measured and that the simulator lets run."""
    return rows[(rows["status"] == "ok") & rows["simulated"].notna() & ~rows["simulated_oom"]]


def agree(rows: pd.DataFrame) -> Agreement:
    """The figures of merit of the comparable ones among ``rows``."""
    return fidelity_data.agree(comparable(rows))


def labels(rows: pd.DataFrame) -> pd.Series:
    """How each row is called: its placer, and the seed where the placer has several."""
    several = rows.groupby(["grid", "task", "placer"])["seed"].transform("nunique") > 1
    seeds = " " + rows["seed"].astype(str)
    return rows["placer"].astype(str) + seeds.where(several, "")


def missing(records: pd.DataFrame) -> list[str]:
    """Names of the cells that have no record in a grid that was run on a machine and backend.

    Tasks that want more GPUs than the machine has get all that there are.
    """
    names: list[str] = []
    for (grid, machine), part in for_real(records).groupby(["grid", "machine"]):
        kept = machine_of(part)
        most = len(kept.gpus) if kept else inf
        found = {Cell(*(row[f.name] for f in fields(Cell))).name for _, row in part.iterrows()}
        for cell in _planned(str(grid).rpartition("@")[0]):
            gpus = int(min(cell.gpus, most))
            real = replace(cell, grid=str(grid), machine=str(machine), gpus=gpus)
            if real.name not in found:
                names.append(real.name)
    return list(dict.fromkeys(names))
