"""Best step time so far of every learned planner, against placements and against seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.hdp import beside_table1
from suite.report.metrics import metric
from suite.report.outcome import word
from suite.report.plot_style import FAILED, MUTED, PUBLISHED
from suite.report.plots._curves import EVALUATIONS, SECONDS, curves
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TITLE = (
    "Search: best step time so far against evaluated placements and against seconds, on hosts of"
    " which some are twice as fast as others"
)
TABLES = ("hdp_table1", "hdp_table2")
LEARNERS = {
    "hdp": ("HDP", "#0072b2"),
    "hdp_tuned": ("HDP tuned", "#009e73"),
    "hdp_tf_release": ("HDP TF release", "#56b4e9"),
    "hdp_random_grouping": ("random grouping", "#cc79a7"),
    "hdp_no_grouping": ("no grouping", "#7f4f24"),
    "colocrl": ("ColocRL", "#e6b800"),
}
"""Placer -> name and colour."""
EXPERT = "human_expert"
LEVELS: dict[str, Any] = {
    "human expert": {"color": "black", "ls": "--"},
    "proven lower bound": {"color": MUTED, "ls": "-."},
    "HDP as published (real K40s)": {"color": PUBLISHED, "ls": ":"},
}
"""Horizontal lines and their looks."""
AXES = {EVALUATIONS: "evaluated placements", SECONDS: "seconds of search"}
HEADROOM = 1.12
"""The vertical axis ends this many times above the highest line and below the lowest."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the figure from all records and all published numbers: a row of two panels a task."""
    comparison = beside_table1(records, published, (*LEARNERS, EXPERT))
    figure, axes = panels(2 * len(comparison.rows), 2, 2.6)
    for i, row in enumerate(comparison.rows):
        _row(axes[2 * i], axes[2 * i + 1], comparison, row)
    title = "line: median over seeds; band: best to worst seed"
    figure.legend(handles=_legend(comparison), title=title, loc="outside upper center", ncols=5)
    return figure


def _row(left: Axes, right: Axes, comparison: Comparison, row: Row) -> None:
    """Draw one task, the vertical axis the same in both panels."""
    heights = []
    for axis, ax in ((EVALUATIONS, left), (SECONDS, right)):
        drawn = [_curve(ax, comparison, row, placer, axis) for placer in LEARNERS]
        if any(drawn):
            ax.set_xscale("log")
            _plain_ticks(ax.xaxis, (1, 2, 5))
        else:
            ax.set_xticks([])
        heights += [*_levels(ax, comparison, row), *filter(None, drawn)]
        ax.set_title(f"{row.label}, {row.gpus} GPUs")
        ax.set_xlabel(AXES[axis])
    for ax in (left, right) if heights else ():
        ax.set_yscale("log")
        ax.set_ylim(min(heights) / HEADROOM, max(heights) * HEADROOM)
        _plain_ticks(ax.yaxis, (1, 1.5, 2, 3, 5, 7))
    left.set_ylabel(f"best {metric('step_time').label}, {metric('step_time').unit}")
    _failures(left, comparison, row)


def _levels(ax: Axes, comparison: Comparison, row: Row) -> list[float]:
    """Draw what a search is measured against; return the heights."""
    bound, _ = comparison.bound(row)
    heights = comparison.ours(row, EXPERT).median, bound, comparison.theirs(row, "hdp").value
    for height, look in zip(heights, LEVELS.values(), strict=True):
        if height > 0:
            ax.axhline(height, lw=1.3, zorder=2, **look)
    return [height for height in heights if height > 0]


def _curve(ax: Axes, comparison: Comparison, row: Row, placer: str, axis: int) -> float:
    """Draw a planner's median and band; return the height of their start, 0 if there is none."""
    found = curves(comparison.of_cell(row, placer), axis)
    if not len(found.at):
        return 0.0
    _, colour = LEARNERS[placer]
    ax.step(found.at, found.median, where="post", color=colour, lw=1.7, zorder=3)
    # A seed that has found nothing yet lets the band run out of the top of the panel.
    high = np.where(np.isinf(found.high), 1e9, found.high)
    ax.fill_between(found.at, found.low, high, step="post", color=colour, alpha=0.15, linewidth=0)
    finite = np.isfinite(found.median)
    return float(max(found.median[finite], default=found.low[0]))


def _failures(ax: Axes, comparison: Comparison, row: Row) -> None:
    """Name the planners that have no curve, and why."""
    reasons: dict[str, list[str]] = {}
    for placer, (name, _) in LEARNERS.items():
        outcome = comparison.ours(row, placer)
        if not outcome.values and outcome.status != "not_run":
            reasons.setdefault(word(outcome.status), []).append(name)
    text = "; ".join(f"{reason}: {', '.join(names)}" for reason, names in reasons.items())
    ax.set_title(text, loc="right", color=FAILED, fontsize=7, fontweight="normal")


def _plain_ticks(axis: Axis, digits: Sequence[float]) -> None:
    """A logarithmic axis with numbers as people write them, at ``digits`` of each decade."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=digits))
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axis.set_minor_formatter(NullFormatter())


def _legend(comparison: Comparison) -> list[Line2D]:
    from matplotlib.lines import Line2D

    there = [name for name in LEARNERS if (comparison.records["placer"] == name).any()]
    learned = [LEARNERS[name] for name in there]
    lines = [Line2D([], [], color=colour, lw=1.8, label=name) for name, colour in learned]
    return lines + [Line2D([], [], lw=1.3, label=name, **look) for name, look in LEVELS.items()]
