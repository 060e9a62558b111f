"""A table's numbers in long form, one a row, with all their digits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.outcome import ratio

Entry = Mapping[str, Any]
"""Some of COLUMNS and their values; the others are empty."""
COLUMNS = (
    *("task", "gpus", "column", "device", "metric", "unit", "status", "n"),
    *("value", "low", "high", "interval_low", "interval_high", "interval_level"),
    *("published", "published_status", "ratio", "grid", "evaluations"),
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


def long_form(
    comparison: Comparison, columns: Sequence[str], derived: Iterable[Entry] = ()
) -> pd.DataFrame:
    """Everything the sections print, for the named placers; then the ``derived`` entries.

    ``value`` is the median over valid records, ``low`` and ``high`` their smallest and largest
    measurement, ``interval_low`` and ``interval_high`` the interval of the median over seeds, which
    holds it with the chance ``interval_level`` (below six seeds it is their range),
    ``evaluations`` the most placements that one of them evaluated; peak memory is the largest over
    seeds; ``step_time_ignoring_memory`` is what the simulator gives for records whose status is
    oom.
    """
    rows: list[Entry] = []
    for row in comparison.rows:
        key = {"task": row.task, "gpus": row.gpus}
        for column in columns:
            rows += [
                {**key, "column": column, **e} for e in placer_entries(comparison, row, column)
            ]
        rows += [{**key, **entry} for entry in _task_entries(comparison, row)]
    frame = pd.DataFrame([*rows, *derived], columns=COLUMNS)
    return frame.astype({"n": "Int64", "evaluations": "Int64"})


def placer_entries(comparison: Comparison, row: Row, placer: str) -> Iterator[Entry]:
    """Step time and peak memory of a placer in a row, as :func:`long_form` describes them."""
    ours, theirs = comparison.ours(row, placer), comparison.theirs(row, placer)
    records = comparison.of_cell(row, placer)
    low, high = ours.interval
    interval = ours.confidence
    yield {
        **{"metric": "step_time", "unit": metric("step_time").unit, "n": len(ours.values)},
        **{"status": ours.status, "value": ours.median, "low": low, "high": high},
        **{f"interval_{name}": value for name, value in interval._asdict().items()},
        **{"published": theirs.digits, "published_status": theirs.status},
        **{"ratio": ratio(ours, theirs), "evaluations": records["evaluations"].max()},
        "grid": next(iter(records["grid"]), None),
    }
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


def _task_entries(comparison: Comparison, row: Row) -> Iterator[Entry]:
    bound, _ = comparison.bound(row)
    yield {"metric": "lower_bound", "unit": metric("lower_bound").unit, "value": bound}
    for name, unit in GRAPH_METRICS.items():
        yield {"metric": name, "unit": unit, "value": comparison.graph(row).get(name)}
