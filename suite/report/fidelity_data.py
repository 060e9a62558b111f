"""Records of placements that were both run and simulated, as numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from suite.core.statistics import (
    LEVEL,
    NO_INTERVAL,
    Agreement,
    Interval,
    Pairs,
    agreement,
    median_interval,
)

GRID = "fidelity"
COLUMNS = (
    *("task", "machine", "backend", "virtual", "kind", "number", "status", "reason"),
    *("measured", "low", "high", "steps", "level", "simulated", "error_percent"),
    *("memory_error_percent", "breakdown"),
)


def fidelity(records: pd.DataFrame) -> pd.DataFrame:
    """One row a placement with COLUMNS, sorted.

    Step times in seconds; ``low`` and ``high`` bound the measured median: the interval over
    ``steps`` steps that holds it with the chance ``level``, which is their range below six steps.
    ``error_percent`` is 100 (simulated - measured) / measured, ``memory_error_percent`` the same of
    the peak memory of the fullest device; NaN without a measurement.
    """
    ours = records[records["grid"] == GRID]
    rows = [_row(row) for _, row in ours.iterrows()]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.sort_values(["task", "machine", "backend", "kind", "number"], ignore_index=True)


def _row(record: pd.Series) -> tuple[object, ...]:
    simulated = record["simulated"].get("step_time", np.nan)
    measured, interval = measured_seconds(record)
    start = (*(record[c] for c in ("task", "machine", "backend", "virtual")), record["placer"])
    outcome = (record["seed"], record["status"], record["reason"])
    error = 100 * (simulated - measured) / measured
    peak, thought = fullest_peaks(record["simulated"].get("peak_memory", {}), record["peak_memory"])
    memory = 100 * (thought / peak - 1)
    spread = (interval.low, interval.high, len(record["step_times"]), interval.level)
    times = (measured, *spread, simulated, error)
    return (*start, *outcome, *times, memory, record["breakdown"])


def measured_seconds(record: pd.Series) -> tuple[float, Interval]:
    """Median step time in seconds and its interval over the steps; NaN if it failed."""
    if record["status"] != "ok":
        return np.nan, NO_INTERVAL
    return float(record["step_time"]), median_interval(record["step_times"])


def bars(rows: pd.DataFrame) -> str:
    """What the error bars of a plot of ``rows`` (with ``level``) are."""
    ranges = (rows["level"] < LEVEL).all()
    return "bar: range of the measured steps" if ranges else "bar: interval of the measured median"


def fullest_peaks(simulated: dict[str, int], measured: dict[str, int]) -> tuple[float, float]:
    """Peak bytes of the device that was fullest in reality: (measured, simulated); NaN if none."""
    fullest = max(measured, key=lambda name: measured[name], default="")
    if fullest not in simulated or not measured[fullest]:
        return np.nan, np.nan
    return float(measured[fullest]), float(simulated[fullest])


def valid(rows: pd.DataFrame) -> pd.DataFrame:
    """Those that were measured."""
    return rows[rows["status"] == "ok"]


def agree(rows: pd.DataFrame) -> Agreement:
    """The figures of merit of the measured ones among ``rows``."""
    kept = valid(rows)
    columns = (kept[c].to_numpy(np.float64) for c in ("simulated", "measured", "low", "high"))
    return agreement(Pairs(*columns))


def label(row: pd.Series) -> str:
    """How a placement is called: ``nmt_2 contiguous 3``."""
    return f"{row['task']} {row['kind']} {row['number']}"


def planned(records: pd.DataFrame) -> int:
    """How many records there should be: what each run says it drew."""
    ours = records[records["grid"] == GRID]
    return int(ours.groupby(["task", "machine", "backend"])["planned"].max().sum())
