"""Sections that any table of tasks and placers can carry: graphs, and peak memory."""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

import pandas as pd

from suite.core.units import format_count
from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.outcome import Printed, word
from suite.report.table import Section


def graph_section(comparison: Comparison, models: pd.DataFrame) -> Section:
    """Size of each task's graph beside the paper's operation count (``models``: its rows)."""
    header = (
        *("Tasks", "operations captured", "after pruning", "paper", "captured / paper"),
        *("tensors", "trainable weights", "variables, GB", "TFLOP a step"),
    )
    rows = [_graph_row(comparison, row, models) for row in comparison.models]
    return Section("Graphs", header, tuple(rows))


def _graph_row(comparison: Comparison, row: Row, models: pd.DataFrame) -> tuple[str, ...]:
    counts, above = [Printed.of(models, row.task, "operations")], ""
    if not counts[0].digits:
        # A paper may give no more than numbers that it is above, and not the same in two places.
        columns = ("operations_above", "operations_over")
        known = [Printed.of(models, row.task, column) for column in columns]
        counts = [one for one in known if one.digits] or counts
        above = "> " * bool(counts[0].digits)
    published = ", ".join(above + _count(one.value) for one in counts)
    graph = comparison.graph(row)
    if not graph:
        return (row.model, "missing", "missing", published, *["missing"] * 5)
    numbers = {k: float(v) for k, v in graph.items() if isinstance(v, int | float)}
    captured = numbers.get("ops_unpruned", nan)
    ratios = [f"{'< ' * bool(above)}x{captured / one.value:.2f}" for one in counts if one.digits]
    return (
        *(row.model, _count(captured), _count(numbers["ops"]), published),
        ", ".join(ratios) if captured == captured and ratios else "-",
        *(_count(numbers["tensors"]), _count(numbers.get("parameters", nan))),
        *(f"{numbers['persistent_bytes'] / 1e9:.2f}", f"{numbers['flops'] / 1e12:.3f}"),
    )


def _count(value: float) -> str:
    return f"{value:,.0f}" if value == value else "-"


def bounds_section(comparison: Comparison, heads: Mapping[str, str], note: int) -> Section:
    """Placers that the paper does not have, and the lower bound, which note ``note`` explains."""
    header = (
        *("Tasks", *heads.values(), f"Lower bound [{note}]", "what binds"),
        "Human Expert / bound",
    )
    seconds, rows = metric("step_time"), []
    for row in comparison.rows:
        cells = [comparison.ours(row, placer).text(seconds) for placer in heads]
        bound, kind = comparison.bound(row)
        ratio = comparison.ours(row, "human_expert").median / bound
        printed = metric("lower_bound").format(bound) if bound == bound else "missing"
        times = f"x{metric('ratio_to_bound').format(ratio)}" if ratio == ratio else "-"
        rows.append((row.label, *cells, printed, kind or "-", times))
    tried = comparison.records[comparison.records["placer"] == "best_of_random"]["evaluations"]
    searched = comparison.records[comparison.records["placer"] == "annealing"]
    counts, seeds = searched["evaluations"].dropna(), searched["seed"].nunique()
    annealing = "Annealing: local search over groups of operations, judged by the simulator"
    if len(counts):
        annealing += f", {int(counts.max()):,} placements, {format_count(seeds, 'seed')}"
    mine = f" {annealing}." if "annealing" in heads else ""
    lead = (
        f"Seconds.{mine} Random: median [smallest-largest, n valid, failures] over its seeds."
        " Best of random: the fastest that fits of"
        f" {int(tried.max()) if len(tried) else 'its'} draws."
    )
    return Section("Not in the paper", header, tuple(rows), lead)


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
