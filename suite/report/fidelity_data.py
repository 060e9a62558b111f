"""Records of placements that were both run and simulated, as numbers."""

from __future__ import annotations

from math import sqrt
from statistics import median

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
    spearman,
)

GRID = "fidelity"
COLUMNS = (
    *("task", "machine", "backend", "virtual", "kind", "number", "placer", "status", "reason"),
    *("measured", "low", "high", "steps", "level", "first_round", "second_round"),
    *("simulated", "error_percent"),
    *("memory_error_percent", "first_output_percent", "last_output_percent", "breakdown"),
)


def fidelity(records: pd.DataFrame) -> pd.DataFrame:
    """One row a placement with COLUMNS, sorted.

    ``placer`` is whose answer it is, empty where it is drawn.
    Step times in seconds; ``low`` and ``high`` bound the measured median: the interval over
    ``steps`` steps that holds it with the chance ``level``, which is their range below six steps.
    ``first_round`` and ``second_round`` are the medians of these rounds; NaN where it was one.
    ``error_percent`` is 100 (simulated - measured) / measured, ``memory_error_percent`` the same of
    the peak memory of the fullest device; NaN without a measurement. ``first_output_percent`` and
    ``last_output_percent`` are by how much the outputs of the first and of the last step (the loss)
    are off those of the first device alone; NaN where either was not measured.
    """
    ours = records[records["grid"] == GRID]
    alone = {
        _setting(row): row["outputs"]
        for _, row in ours.iterrows()
        if (row["placer"], row["seed"]) == ("single", 0)
    }
    rows = [_row(row, alone.get(_setting(row), [])) for _, row in ours.iterrows()]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return frame.sort_values(["task", "machine", "backend", "kind", "number"], ignore_index=True)


def _setting(record: pd.Series) -> tuple[str, ...]:
    """What the outputs of two records must have in common to be compared."""
    return record["task"], record["machine"], record["backend"]


def _row(record: pd.Series, alone: list[list[float]]) -> tuple[object, ...]:
    simulated = record["simulated"].get("step_time", np.nan)
    measured, interval = measured_seconds(record)
    start = (*(record[c] for c in ("task", "machine", "backend", "virtual")), record["placer"])
    placer = record["parameters"].get("placer", "")
    outcome = (record["seed"], placer, record["status"], record["reason"])
    error = 100 * (simulated - measured) / measured
    peak, thought = fullest_peaks(record["simulated"].get("peak_memory", {}), record["peak_memory"])
    memory = 100 * (thought / peak - 1)
    spread = (interval.low, interval.high, len(record["step_times"]), interval.level)
    times = (measured, *spread, *_round_medians(record), simulated, error)
    off = _outputs_off(record["outputs"], alone)
    return (*start, *outcome, *times, memory, *off, record["breakdown"])


def _round_medians(record: pd.Series) -> tuple[float, float]:
    """Seconds of the first two rounds; NaN without a second one, or if it failed."""
    if record["status"] != "ok" or len(record["rounds"]) < 2:
        return np.nan, np.nan
    first, second = (median(times) for times in record["rounds"][:2])
    return first, second


def reachable(rows: pd.DataFrame) -> float:
    """The rank correlation that a simulator without error could expect to have.

    From that of the first and the second round, r: what a measurement of both would have with what
    is true, sqrt(2 r / (1 + r)) (Spearman 1910; Brown 1910). NaN unless all that were measured had
    two rounds, for fewer than three placements, or where r is below zero.
    """
    kept = valid(rows)
    if kept[["first_round", "second_round"]].isna().any(axis=None):
        return np.nan
    agree = spearman(*(kept[c].to_numpy(np.float64) for c in ("first_round", "second_round")))
    return sqrt(2 * agree / (1 + agree)) if agree >= 0 else np.nan


def _outputs_off(outputs: list[list[float]], alone: list[list[float]]) -> tuple[float, float]:
    """By how many percent the first and the last step's outputs are off; the largest of each."""
    if not any(outputs) or len(outputs) != len(alone):
        return np.nan, np.nan
    here, there = np.array(outputs)[[0, -1]], np.array(alone)[[0, -1]]
    off = 100 * np.abs(here - there) / np.maximum(np.abs(there), np.finfo(np.float32).tiny)
    return float(off[0].max()), float(off[1].max())


def measured_seconds(record: pd.Series) -> tuple[float, Interval]:
    """Median step time in seconds and its interval over the steps; NaN if it failed."""
    if record["status"] != "ok":
        return np.nan, NO_INTERVAL
    return float(record["step_time"]), median_interval(record["step_times"])


def bars(rows: pd.DataFrame) -> str:
    """What the error bars of a plot of ``rows`` (with ``level``) are."""
    ranges = rows["level"].dropna() < LEVEL
    if ranges.all():
        return "bar: range of the measured steps"
    some = ", or range of fewer than six steps" if ranges.any() else ""
    return f"bar: interval of the measured median{some}"


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


def called(row: pd.Series) -> str:
    """How a placement is called: ``contiguous 3``, and a placer's answer ``annealing (best 2)``."""
    drawn = f"{row['kind']} {row['number']}"
    return f"{row['placer']} ({drawn})" if row["placer"] else drawn


def label(row: pd.Series) -> str:
    """The same with its task: ``nmt_2 contiguous 3``."""
    return f"{row['task']} {called(row)}"


def planned(records: pd.DataFrame) -> int:
    """How many records there should be: what each run says it drew."""
    ours = records[records["grid"] == GRID]
    return int(ours.groupby(["task", "machine", "backend"])["planned"].max().sum())
