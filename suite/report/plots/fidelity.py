"""Scatter of measured against simulated step time, with the noise of the measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from suite.report.fidelity_data import agree, bars, fidelity, valid
from suite.report.metrics import metric
from suite.report.plot_style import MUTED
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Measured against simulated step time of the same placements"
TABLES = ("fidelity",)
KINDS = {
    "single": ("s", "#111827"),
    "expert": ("*", "#d9822b"),
    "partitioner": ("D", "#2f6f9f"),
    "best": ("^", "#2e7d32"),
    "contiguous": ("o", "#7b61a8"),
    "random": ("x", "#b3261e"),
}
"""Kind of placement -> marker and colour."""
ROOM = 1.15
"""Factor left free around the points."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw a panel for each task, machine and backend; an empty one when nothing was measured."""
    rows = valid(fidelity(records))
    parts = list(rows.groupby(["task", "machine", "backend"]))
    figure, axes = panels(max(1, len(parts)), min(3, max(1, len(parts))), 3.4)
    for ax, (names, part) in zip(axes, parts, strict=False):
        _panel(ax, names, part)
    if parts:
        handles, labels = axes[0].get_legend_handles_labels()
        known = dict(zip(labels, handles, strict=True))
        for ax in axes[1:]:
            more = ax.get_legend_handles_labels()
            known |= dict(zip(more[1], more[0], strict=True))
        legend = figure.legend(known.values(), known.keys(), loc="outside upper center", ncols=7)
        legend.set_title(bars(rows))
    else:
        axes[0].set_title("No placement has been run yet")
    return figure


def _panel(ax: Axes, names: tuple[object, ...], part: pd.DataFrame) -> None:
    for kind, rows in part.groupby("kind"):
        marker, colour = KINDS.get(str(kind), (".", MUTED))
        spread = [rows["measured"] - rows["low"], rows["high"] - rows["measured"]]
        look: Any = {"fmt": marker, "ms": 5, "elinewidth": 1, "alpha": 0.8, "color": colour}
        ax.errorbar(rows["simulated"], rows["measured"], yerr=spread, label=str(kind), **look)
    low = min(part["simulated"].min(), part["low"].min()) / ROOM
    high = max(part["simulated"].max(), part["high"].max()) * ROOM
    ax.plot([low, high], [low, high], color=MUTED, lw=1, ls="--", zorder=0, label="equal")
    ax.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    _ticks(ax)
    figures = agree(part)
    task, machine, backend = names
    ax.set_title(
        f"{task}\n{machine}, {backend}\nSpearman {figures.spearman:.3f}, error"
        f" {figures.median_absolute_percentage_error:.1f} %",
        fontsize=9,
    )
    seconds = metric("step_time")
    ax.set_xlabel(f"simulated {seconds.label}, {seconds.unit}")
    ax.set_ylabel(f"measured {seconds.label}, {seconds.unit}")


def _ticks(ax: Axes) -> None:
    """Numbers as people write them on both logarithmic axes."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = ax.get_xlim()
    subs = (1, 1.5, 2, 3, 5, 7) if high < 8 * low else (1, 2, 5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_major_formatter(lambda value, _: f"{value:,.3g}")
        axis.set_minor_formatter(NullFormatter())
