"""Who is busy when: a strip a device over one training step, a block a placer, one task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from suite.report.hdp import FITTED, SHORT, beside_table1
from suite.report.metrics import metric
from suite.report.outcome import middle, word
from suite.report.plot_style import FAILED, WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASK = "nmt_4"
SHOWN = {placer: head for placer, head in SHORT.items() if placer not in FITTED}
"""Placers that use several devices: on a single one there is nothing to see."""
TITLE = "Device utilisation over one training step of the 4-layer NMT"
TABLES = ("hdp_table1",)
STRIP = 0.19
"""Inches of height of one device's strip."""
MISSING = pd.Series({"utilisation": None, "status": "missing"}, dtype=object)
"""Stands for a record that is not there."""


def plot(records: pd.DataFrame, published: pd.DataFrame, task: str = TASK) -> Figure:
    """Draw the figure for one task; of several seeds of a placer, the middle one."""
    from matplotlib.figure import Figure

    comparison = beside_table1(records, published)
    row = next(row for row in comparison.rows if row.task == task)
    seeds = {str(placer): mine for placer, mine in comparison.of_row(row).groupby("placer")}
    shown = {p: middle(seeds[p]) if p in seeds else MISSING for p in SHOWN}
    which = {p: f", seed {shown[p]['seed']}" if len(seeds.get(p, ())) > 1 else "" for p in shown}
    devices = [len(record["capacity"]) if record["utilisation"] else 1 for record in shown.values()]
    height = max(3.0, STRIP * sum(devices) + 0.42 * len(shown) + 1.2)
    figure = Figure(figsize=(WIDTH, height))
    title = f"{row.label}, {row.gpus} GPUs: when each device computes"
    title += " (of several seeds, the middle one)"
    figure.suptitle(title, fontsize=12)
    grid = figure.add_gridspec(len(shown), 1, height_ratios=devices)
    end = max(_end(record) for record in shown.values()) or 1.0
    axes = [figure.add_subplot(grid[i, 0]) for i in range(len(shown))]
    for ax, (placer, record) in zip(axes, shown.items(), strict=True):
        _block(ax, SHOWN[placer], which[placer], record, end)
    axes[-1].tick_params(labelbottom=True)
    axes[-1].set_xlabel("seconds since the step began")
    _scale(figure, axes)
    return figure


def _end(record: pd.Series) -> float:
    """Seconds that a record's strips cover."""
    strips = record["utilisation"]
    if not strips:
        return 0.0
    return float(strips["bin_seconds"] * max(len(s) for s in strips["devices"].values()))


def _block(ax: Axes, head: str, which: str, record: pd.Series, end: float) -> None:
    """One placer, or one of its seeds: its devices' strips, as long as its step takes."""
    strips, status = record["utilisation"], str(record["status"])
    ax.set_xlim(0, end)
    ax.grid(False)
    ax.tick_params(labelbottom=False, length=2)
    if not strips:
        ax.set_yticks([])
        ax.set_title(head, fontsize=9.5)
        ax.text(0.01 * end, 0.5, word(status), color=FAILED, va="center", fontweight="bold")
        return
    names = sorted(strips["devices"])
    shares = np.array([strips["devices"][name] for name in names])
    extent = (0.0, _end(record), len(names), 0.0)
    look: Any = {"cmap": "Blues", "vmin": 0, "vmax": 1, "interpolation": "nearest"}
    ax.imshow(shares, aspect="auto", extent=extent, **look)
    for y in range(1, len(names)):
        ax.axhline(y, color="white", lw=1.5)
    ax.set_yticks([y + 0.5 for y in range(len(names))], names, fontsize=8)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0, end)
    ax.axvline(extent[1], color="black", lw=1)
    oom = f"  ({word(status)}: does not run)" if status != "ok" else ""
    time = f"{head}: {metric('step_time').format(record['step_time'])} s{which}{oom}"
    ax.set_title(time, fontsize=9.5, color=FAILED if oom else "black")


def _scale(figure: Figure, axes: list[Axes]) -> None:
    from matplotlib.cm import ScalarMappable

    bar = ScalarMappable(cmap="Blues")
    bar.set_clim(0, 1)
    drawn = figure.colorbar(bar, ax=axes, fraction=0.02, pad=0.01, shrink=0.4)
    drawn.ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    drawn.set_label(metric("utilisation").label)
