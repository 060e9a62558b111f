"""Simulated and measured step times of every placer, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from suite.report.fidelity_data import bars
from suite.report.measured_data import comparable, labels, measured
from suite.report.metrics import metric
from suite.report.plot_style import MUTED, OURS, PUBLISHED, WIDTH
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Grids run for real: simulated and measured step time, tasks with three answers or more"
TABLES = ("measured",)
COLOURS = {"cluster": PUBLISHED, "session": "#2e7d32"}
KEYS = ["grid", "machine", "gpus", "task"]
FEW = 3
"""Answers below which a panel would show less than its line in the table says."""
FRAME, LINE = 1.6, 0.15
"""Inches of a panel's height: what is around it, and each of its lines."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw a panel for each grid, machine and task with FEW answers; else an empty one."""
    from matplotlib.figure import Figure

    rows = measured(records)
    rows = comparable(rows.assign(label=labels(rows)))
    groups = rows.groupby(KEYS, sort=False)
    parts = [part for _, part in groups if part["label"].nunique() >= FEW]
    if not parts:
        figure, axes = panels(1, 1, 4.0)
        axes[0].set_title(f"No grid has been run yet with {FEW} answers on a task")
        return figure
    lines = [part["label"].nunique() for part in parts]
    heights = [FRAME + LINE * max(lines[i : i + 2]) for i in range(0, len(lines), 2)]
    figure = Figure(figsize=(WIDTH, sum(heights)))
    grid = figure.add_gridspec(len(heights), min(2, len(parts)), height_ratios=heights)
    for i, part in enumerate(parts):
        _panel(figure.add_subplot(grid[divmod(i, 2)]), part)
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
    ax.set_title(f"{first['task']}\n{first['machine']}, grid {first['grid']}", fontsize=9)
    # Below the axis and its label, whatever the height: the pad is counted in letters.
    below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 4, "ncols": 3}
    ax.legend(fontsize=8, title=bars(part), title_fontsize=8, **below)
