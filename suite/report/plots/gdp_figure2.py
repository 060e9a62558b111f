"""GDP's Figure 2: step time of graphs that a policy was not trained on, ours and theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import FIGURE2, FIGURE2_MORE, beside_figure2
from suite.report.metrics import metric
from suite.report.outcome import word
from suite.report.plot_style import FAILED, OURS, PUBLISHED
from suite.report.plots._panels import panels
from suite.report.policies import seen_mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Graphs that a policy was not trained on, ours beside GDP's Figure 2"
TABLES = ("gdp_figure2",)
SECONDS = metric("step_time")
BAR = 0.4
"""Width of a bar; placers are 1 apart."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the figure from all records and all published numbers."""
    from matplotlib.patches import Patch

    comparison = beside_figure2(records, published)
    figure, axes = panels(len(comparison.rows), 1, 2.2)
    for ax, row in zip(axes, comparison.rows, strict=True):
        _panel(ax, comparison, row)
    ours = Patch(color=OURS, label="ours, simulated (whisker: all seeds)")
    theirs = Patch(color=PUBLISHED, label="published (GDP, Figure 2, read off its bars)")
    figure.legend(handles=[ours, theirs], loc="outside upper center", ncols=2)
    return figure


def _panel(ax: Axes, comparison: Comparison, row: Row) -> None:
    heads = FIGURE2 | FIGURE2_MORE
    names = [head.replace(", ", "\n") for head in heads.values()]
    for x, placer in enumerate(heads):
        ours, theirs = comparison.ours(row, placer), comparison.theirs(row, placer)
        shift = BAR / 2 if theirs.status == "ok" else 0
        if theirs.status == "ok":
            ax.bar(x + shift, theirs.value, BAR, color=PUBLISHED)
        if ours.values:
            ax.bar(x - shift, ours.median, BAR, color=OURS)
            ax.plot([x - shift] * 2, [ours.values[0], ours.values[-1]], color="black", lw=1.2)
            seen = seen_mark(comparison.of_cell(row, placer)).replace(" ", "\n", 1)
            top, text = ours.values[-1], SECONDS.format(ours.median) + seen
            ax.text(x - shift, top, text, fontsize=6, ha="center", va="bottom")
        else:
            colour = OURS if ours.status == "oom" else FAILED
            kind = ax.get_xaxis_transform()
            told = ax.text(x - shift, 0.03, word(ours.status), transform=kind, color=colour)
            told.set(rotation=90, ha="center", fontsize=8)
    ax.set_title(f"{row.label}, {row.gpus} GPUs")
    ax.set_ylabel(f"{SECONDS.label}, {SECONDS.unit}")
    ax.set_xticks(range(len(names)), names, fontsize=7.5)
    ax.set_xlim(-0.6, len(names) - 0.4)
    ax.grid(False, axis="x")
    ax.margins(y=0.15)
