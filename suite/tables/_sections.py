"""Sections that any table of tasks and placers can carry: graphs, and peak memory."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import pandas as pd

from suite.comparison import Comparison, Row
from suite.metrics import metric
from suite.outcome import Printed, word
from suite.table import Section


def graph_section(comparison: Comparison, models: pd.DataFrame) -> Section:
    """Size of each task's graph beside the paper's operation count (``models``: its rows)."""
    header = (
        *("Tasks", "operations captured", "after pruning", "paper", "captured / paper"),
        *("tensors", "trainable weights", "variables, GB", "TFLOP a step"),
    )
    rows = [_graph_row(comparison, row, models) for row in comparison.rows]
    return Section("Graphs", header, tuple(rows))


def _graph_row(comparison: Comparison, row: Row, models: pd.DataFrame) -> tuple[str, ...]:
    theirs = Printed.of(models, row.task, "operations")
    graph = comparison.graph(row)
    if not graph:
        return (row.label, "missing", "missing", _count(theirs.value), *["missing"] * 5)
    numbers = {k: float(v) for k, v in graph.items() if isinstance(v, int | float)}
    captured = numbers.get("ops_unpruned", nan)
    ratio = captured / theirs.value
    return (
        *(row.label, _count(captured), _count(numbers["ops"]), _count(theirs.value)),
        f"x{ratio:.2f}" if ratio == ratio else "-",
        *(_count(numbers["tensors"]), _count(numbers.get("parameters", nan))),
        *(f"{numbers['persistent_bytes'] / 1e9:.2f}", f"{numbers['flops'] / 1e12:.3f}"),
    )


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == value else "-"


def memory_section(comparison: Comparison, heads: Mapping[str, str]) -> Section:
    """The fullest device of each cell; ``heads`` maps placers to column heads."""
    rows = []
    for row in comparison.rows:
        cells = [_fullest_text(comparison.of_cell(row, placer)) for placer in heads]
        rows.append((row.label, *cells))
    return Section(
        "Peak memory",
        ("Tasks", *heads.values()),
        tuple(rows),
        "The device that comes nearest to its capacity, or exceeds it most: peak in GB, share of"
        " the capacity, name. Over several seeds: the worst.",
    )


def _fullest_text(records: pd.DataFrame) -> str:
    share, device, peak = fullest(records)
    if not device:
        return "missing" if records.empty else word(str(records["status"].iloc[0]))
    printed = f"{metric('peak_memory').format(peak)} ({metric('memory_share').format(share)})"
    return f"{printed} {device}{' OOM' if share > 1 else ''}"


def fullest(records: pd.DataFrame) -> tuple[float, str, int]:
    """(peak / capacity, device, peak bytes) of the fullest device in any of the records.

    The device is empty where nothing was measured.
    """
    shares = [
        (peak[device] / capacity[device], device, peak[device])
        for peak, capacity in zip(records["peak_memory"], records["capacity"], strict=True)
        for device in peak
    ]
    return max(shares, default=(0.0, "", 0))
