"""Peak memory of every device against its capacity: a panel a task, a line a placer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.hdp import SHORT, beside_table1
from suite.report.outcome import word
from suite.report.plot_style import FAILED, OURS, PUBLISHED
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TITLE = "Peak memory of each device as a share of its capacity, per task and placer"
TABLES = ("hdp_table1",)
FAN = 0.55
"""Height over which the devices of one placer are fanned out; placers are 1 apart."""
CPU, GPU = "s", "o"
"""Markers."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the figure from all records; the published table gives the panels."""
    comparison = beside_table1(records, published)
    figure, axes = panels(len(comparison.rows), 3, 2.9)
    for ax, row in zip(axes, comparison.rows, strict=True):
        _panel(ax, comparison, row)
    figure.legend(handles=_legend(), loc="outside upper center", ncols=4)
    figure.supxlabel("peak memory / capacity (of several seeds: every one)", fontsize=10)
    return figure


def _panel(ax: Axes, comparison: Comparison, row: Row) -> None:
    records = comparison.of_row(row)
    top = 1.0
    for y, placer in enumerate(SHORT):
        mine = records[records["placer"] == placer]
        shares = _shares(mine)
        for i, (device, values) in enumerate(shares.items()):
            at = y + FAN * ((i + 0.5) / len(shares) - 0.5)
            _dots(ax, at, device, values)
            top = max(top, *values)
        if not shares:
            text = "missing" if mine.empty else word(str(mine["status"].iloc[0]))
            ax.text(0.03, y, text, color=FAILED, fontsize=9, va="center", fontweight="bold")
    ax.axvline(1, color=FAILED, lw=1.2, ls="--")
    ax.set_yticks(range(len(SHORT)), list(SHORT.values()), fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(SHORT) - 0.5, -0.5)
    ax.set_xlim(-0.03, 1.1 * top)
    ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    ax.set_title(f"{row.label}, {row.gpus} GPUs")


def _dots(ax: Axes, y: float, device: str, values: list[float]) -> None:
    marker, colour = (CPU, PUBLISHED) if device.startswith("cpu") else (GPU, OURS)
    colours = [FAILED if value > 1 else colour for value in values]
    ys = [y] * len(values)
    ax.scatter(values, ys, s=15, c=colours, marker=marker, alpha=0.7, linewidths=0, zorder=3)


def _shares(records: pd.DataFrame) -> dict[str, list[float]]:
    """Device -> peak / capacity of every seed."""
    shares: dict[str, list[float]] = {}
    for peak, capacity in zip(records["peak_memory"], records["capacity"], strict=True):
        for device in sorted(peak):
            shares.setdefault(device, []).append(peak[device] / capacity[device])
    return shares


def _legend() -> list[Line2D]:
    from matplotlib.lines import Line2D

    def dot(marker: str, colour: str, label: str) -> Line2D:
        return Line2D([], [], marker=marker, color=colour, ls="", label=label)

    limit = Line2D([], [], color=FAILED, ls="--", lw=1.2, label="capacity")
    gpu, cpu = dot(GPU, OURS, "a GPU"), dot(CPU, PUBLISHED, "the CPU")
    return [gpu, cpu, dot(GPU, FAILED, "over capacity: OOM"), limit]
