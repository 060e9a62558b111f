"""Simulated and measured step times of every placer, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from suite.report.fidelity_data import bars
from suite.report.measured_data import comparable, labels, measured
from suite.report.metrics import metric
from suite.report.plot_style import MUTED, OURS, PUBLISHED
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Grids run for real: simulated and measured step time of every placer"
TABLES = ("measured",)
COLOURS = {"cluster": PUBLISHED, "session": "#2e7d32"}
KEYS = ["grid", "machine", "gpus", "task"]


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw a panel for each grid, machine and task; an empty one when nothing was measured."""
    rows = measured(records)
    rows = comparable(rows.assign(label=labels(rows)))
    parts = [part for _, part in rows.groupby(KEYS, sort=False)]
    figure, axes = panels(max(1, len(parts)), min(2, max(1, len(parts))), 4.0)
    for ax, part in zip(axes, parts, strict=False):
        _panel(ax, part)
    if not parts:
        axes[0].set_title("No grid has been run yet")
    return figure


def _panel(ax: Axes, part: pd.DataFrame) -> None:
    """A line a placer, the fastest in the simulator on top."""
    simulated = part.groupby("label", sort=False)["simulated"].median().sort_values(kind="stable")
    line = {label: i for i, label in enumerate(simulated.index)}
    ax.plot(simulated, range(len(line)), "o", color=OURS, label="simulated")
    for backend, rows in part.groupby("backend"):
        spread = [rows["measured"] - rows["low"], rows["high"] - rows["measured"]]
        heights = [line[label] for label in rows["label"]]
        virtual = " (virtual)" * bool(rows["virtual"].any())
        ax.errorbar(
            *(rows["measured"], heights),
            xerr=spread,
            fmt="D",
            ms=5,
            elinewidth=1,
            capsize=2,
            color=COLOURS.get(str(backend), MUTED),
            label=f"{backend}{virtual}",
        )
    first, seconds = part.iloc[0], metric("step_time")
    ax.set_yticks(range(len(line)), list(line))
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel(f"{seconds.label}, {seconds.unit}")
    ax.set_title(f"{first['task']}, {first['machine']}, grid {first['grid']}", fontsize=9)
    ax.legend(loc="best", fontsize=8, title=bars(part), title_fontsize=8)
