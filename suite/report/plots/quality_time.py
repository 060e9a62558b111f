"""Quality against planning time: every placer's answer, and how the searches got there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.hdp import TODAY, beside_table1
from suite.report.outcome import Outcome, middle
from suite.report.placeto import PLACETO
from suite.report.plot_style import MUTED
from suite.report.plots._panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

TITLE = (
    "Quality against planning time: step time / lower bound of placers, without CPU only, random"
    " and those that have short searches alone here; budgets differ, from none to 20,000 placements"
    " (Placeto) and a minute (race), and so do hosts, of which some are twice as fast as others"
)
TABLES = ("hdp_table1", "strong_baselines")
GRIDS = ("race", "reference", "colocrl", "placeto", "strong", "quick")
"""A placer's records come from the first grid that has it on the task."""
SHORT = "quick"
"""Of this grid, whose searches are short, only what evaluates nothing."""
LEFT_OUT = ("random", "cpu_only")
"""Placers whose answers would flatten the picture."""
LOOKS = ("o", "s", "^", "v", "D", "P", "X", "*", "<", ">")
"""Markers; every second round of them is hollow."""
SHORTEST = 1e-3
"""Seconds below which a placer is drawn as if it took these."""


def plot(records: pd.DataFrame, published: pd.DataFrame) -> Figure:
    """Draw the figure from all records; the published table gives the panels."""
    rows = beside_table1(records, published).rows
    placers = _placers()
    figure, axes = panels(len(rows), 2, 3.0)
    for ax, row in zip(axes, rows, strict=True):
        mine = records[(records["task"] == row.task) & (records["gpus"] == row.gpus)]
        _panel(ax, mine[mine["machine"] == TODAY.machine], placers)
        ax.set_title(f"{row.label}, {row.gpus} GPUs")
    figure.legend(handles=_legend(placers), loc="outside upper center", ncols=5, fontsize=8)
    return figure


def _placers() -> list[str]:
    labels = [cell.placer for grid in GRIDS if grid != SHORT for cell in planned_cells(grid)]
    return sorted({*labels} - {*LEFT_OUT})


def _panel(ax: Axes, records: pd.DataFrame, placers: list[str]) -> None:
    bound = float(records["lower_bound"].max()) if len(records) else 1.0
    for number, placer in enumerate(placers):
        mine = _first_grid(records[records["placer"] == placer])
        outcome = Outcome.of(mine, 1)
        if not outcome.values:
            continue
        marker, style = LOOKS[number % len(LOOKS)], _style(number)
        seconds = max(SHORTEST, float(mine["wall_seconds"].median()))
        ax.plot([seconds], [outcome.median / bound], marker, zorder=3, **style)
        history = middle(mine)["history"]
        if len(history) > 1:
            when, best = zip(*((s, t / bound) for _, s, t in history), strict=True)
            ends = [*when, seconds], [*best, outcome.median / bound]
            ax.step(*ends, where="post", color=style["color"], lw=0.9, alpha=0.7)
    ax.axhline(1, color=MUTED, lw=1.2, ls="--", zorder=0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_yticks([1, 1.5, 2, 3, 5, 8, 12], ["1", "1.5", "2", "3", "5", "8", "12"])
    ax.minorticks_off()
    ax.set_ylim(0.93, 14)
    ax.set_xlabel(f"seconds to place ({SHORTEST:g}: that or less)")
    ax.set_ylabel("step time / lower bound")


def _first_grid(records: pd.DataFrame) -> pd.DataFrame:
    for grid in GRIDS:
        here = records[records["grid"] == grid]
        if grid == SHORT:
            here = here[here["evaluations"].fillna(0) == 0]
        if len(here):
            return here
    return records.iloc[:0]


def _style(number: int) -> dict[str, Any]:
    import matplotlib

    # Marker and filling come back after 20: the colours are shifted then.
    colour = matplotlib.colormaps["tab20"]((number + number // 20 * 7) % 20)
    hollow = number // len(LOOKS) % 2 == 1
    # A hollow marker shows what lies beneath: after a minute some searches end at one place.
    return {"color": colour, "markerfacecolor": "none" if hollow else colour}


def _legend(placers: list[str]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            ls="",
            marker=LOOKS[i % len(LOOKS)],
            label=PLACETO.get(placer, placer),
            **_style(i),
        )
        for i, placer in enumerate(placers)
    ]
