"""A table's numbers in long form, one a row, with all their digits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from suite.comparison import Comparison, Row
from suite.metrics import metric
from suite.outcome import ratio

COLUMNS = (
    *("task", "gpus", "column", "device", "metric", "unit", "status", "n"),
    *("value", "low", "high", "published", "published_status", "ratio"),
)
GRAPH_METRICS = {
    "ops_unpruned": "operations",
    "ops": "operations",
    "tensors": "tensors",
    "parameters": "weights",
    "persistent_bytes": "bytes",
    "flops": "FLOP",
}
"""Numbers of a graph and their units."""


def long_form(comparison: Comparison, columns: Sequence[str]) -> pd.DataFrame:
    """Everything the sections print, for the named placers.

    ``value`` is the median over valid records, ``low`` and ``high`` their smallest and largest
    measurement; peak memory is the largest over seeds; ``step_time_ignoring_memory`` is what the
    simulator gives for records whose status is oom.
    """
    rows: list[dict[str, Any]] = []
    for row in comparison.rows:
        key = {"task": row.task, "gpus": row.gpus}
        for column in columns:
            rows += [key | {"column": column} | e for e in _placer_entries(comparison, row, column)]
        rows += [key | entry for entry in _task_entries(comparison, row)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"n": "Int64"})


def _placer_entries(comparison: Comparison, row: Row, placer: str) -> Iterator[dict[str, Any]]:
    ours, theirs = comparison.ours(row, placer), comparison.theirs(row, placer)
    low, high = ours.interval
    yield {
        **{"metric": "step_time", "unit": metric("step_time").unit, "n": len(ours.values)},
        **{"status": ours.status, "value": ours.median, "low": low, "high": high},
        **{"published": theirs.digits, "published_status": theirs.status},
        "ratio": ratio(ours, theirs),
    }
    records = comparison.of_row(row)
    records = records[records["placer"] == placer]
    without = records[(records["status"] == "oom") & records["step_time"].notna()]["step_time"]
    if len(without):
        yield {
            **{"metric": "step_time_ignoring_memory", "unit": "s", "status": "oom"},
            **{"n": len(without), "value": without.median()},
            **{"low": without.min(), "high": without.max()},
        }
    peaks: dict[str, list[int]] = {}
    for measured in records["peak_memory"]:
        for device, peak in measured.items():
            peaks.setdefault(device, []).append(peak)
    for device, values in sorted(peaks.items()):
        entry = {"metric": "peak_memory", "unit": metric("peak_memory").unit, "device": device}
        yield entry | {"value": max(values), "low": min(values), "high": max(values)}


def _task_entries(comparison: Comparison, row: Row) -> Iterator[dict[str, Any]]:
    bound, _ = comparison.bound(row)
    yield {"metric": "lower_bound", "unit": metric("lower_bound").unit, "value": bound}
    for name, unit in GRAPH_METRICS.items():
        yield {"metric": name, "unit": unit, "value": comparison.graph(row).get(name)}
