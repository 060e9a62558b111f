"""Bars of step time: a panel a task, a bar a placer, ours beside the published value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.hdp import SHORT, TODAY, beside_table1
from suite.report.metrics import metric
from suite.report.outcome import Outcome, Printed, word
from suite.report.plot_style import FAILED, MUTED, OURS, PUBLISHED
from suite.report.plots._panels import panels
from suite.report.world import FITTED

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Step time per task and placer, ours beside HDP's Table 1"
TABLES = ("hdp_table1",)
SECONDS = metric("step_time")
BAR = 0.46
"""Width of a bar; placers are 1 apart."""
HATCHED: dict[str, Any] = {"hatch": "////", "edgecolor": "white", "linewidth": 0}
LOG_FROM = 8.0
"""Ratio of the slowest to the fastest bar from which a panel gets a logarithmic axis."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the figure from all records and all published numbers."""
    comparison = beside_table1(records, published)
    figure, axes = panels(len(comparison.rows), 1, 2.3)
    for ax, row in zip(axes, comparison.rows, strict=True):
        _panel(ax, comparison, row)
    figure.legend(handles=_legend(), loc="outside upper center", ncols=2)
    return figure


def _panel(ax: Axes, comparison: Comparison, row: Row) -> None:
    ours = [comparison.ours(row, placer) for placer in SHORT]
    theirs = [comparison.theirs(row, placer) for placer in SHORT]
    heights = [o.median for o in ours if o.values] + [p.value for p in theirs if p.value > 0]
    logarithmic = bool(heights) and max(heights) > LOG_FROM * min(heights)
    if logarithmic:
        _logarithmic(ax)
    for x, (placer, outcome, printed) in enumerate(zip(SHORT, ours, theirs, strict=True)):
        shift = BAR / 2 if printed.status in ("ok", "oom") else 0
        _ours(ax, x - shift, outcome, fitted=TODAY.of(row, placer) == FITTED)
        if shift:
            _theirs(ax, x + shift, printed)
    bound, _ = comparison.bound(row)
    if bound > 0:
        ax.axhline(bound, color=MUTED, lw=1.2, ls="--", zorder=0)
    ax.set_title(f"{row.label}, {row.gpus} GPUs")
    ax.set_ylabel(f"{SECONDS.label}, {SECONDS.unit}{', logarithmic' * logarithmic}")
    heads = ["\n".join(head.rsplit(" ", 1)) for head in SHORT.values()]
    ax.set_xticks(range(len(heads)), heads, fontsize=7.5)
    ax.set_xlim(-0.6, len(heads) - 0.4)
    ax.grid(False, axis="x")
    ax.margins(y=0.15)


def _logarithmic(ax: Axes) -> None:
    """Ticks at 1, 2 and 5, written out."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _ours(ax: Axes, x: float, outcome: Outcome, fitted: bool) -> None:
    """A bar to the median, a whisker over all seeds; or the word for what happened.

    Hatched where the machine was ``fitted`` to the published value.
    """
    if not outcome.values:
        _word(ax, x, word(outcome.status), OURS if outcome.status == "oom" else FAILED)
        return
    ax.bar(x, outcome.median, BAR, color=OURS, **HATCHED if fitted else {})
    low, high = outcome.values[0], outcome.values[-1]
    if len(outcome.values) > 1:
        ax.plot([x, x], [low, high], color="black", lw=1.2)
    lost = f"\n{len(outcome.values)} of {outcome.found}" if outcome.failures else ""
    _number(ax, x, high, SECONDS.format(outcome.median) + lost)


def _theirs(ax: Axes, x: float, printed: Printed) -> None:
    if printed.status == "oom":
        _word(ax, x, word("oom"), PUBLISHED)
        return
    ax.bar(x, printed.value, BAR, color=PUBLISHED)
    _number(ax, x, printed.value, printed.digits)


def _number(ax: Axes, x: float, top: float, text: str) -> None:
    at = (0, 2)
    ax.annotate(text, (x, top), xytext=at, textcoords="offset points", ha="center", fontsize=6)


def _word(ax: Axes, x: float, text: str, colour: str) -> None:
    ax.text(
        x,
        0.03,
        text,
        transform=ax.get_xaxis_transform(),
        rotation=90,
        ha="center",
        va="bottom",
        color=colour,
        fontsize=9,
        fontweight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def _legend() -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    ours = Patch(color=OURS, label="ours, simulated (whisker: all seeds)")
    bound = Line2D([], [], color=MUTED, lw=1.2, ls="--", label="proven lower bound on ours")
    fitted = Patch(facecolor=OURS, **HATCHED, label="the same, fitted to what is published")
    return [ours, Patch(color=PUBLISHED, label="published (HDP, Table 1)"), fitted, bound]
