"""The placement found for one NMT, layers x unrolled steps, in the way of HDP's Figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.report.comparison import Comparison, Row
from suite.report.hdp import SHORT, beside_table1
from suite.report.metrics import metric
from suite.report.plot_style import WIDTH
from suite.report.recorded import recorded
from suite.report.unrolled import Unrolled, layer_name, unroll

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

TITLE = "Placement found for the 4-layer NMT: layers x unrolled steps, coloured by device"
TABLES = ("hdp_table1",)
TASK = "nmt_4"
CHOICE = ("hdp", "human_expert")
"""Whose placement is shown: the first that has a valid one."""
CPU = "#b8bcc4"
GPUS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#56b4e9", "#d55e00", "#f0e442", "#5b3a8e"),
)
"""Colours by number, told apart by the colour-blind too (Okabe and Ito 2008, and a violet)."""
FILLED = 0.86
"""Share of its square that a cell fills."""
PASSES = ("forward operations", "backward operations (gradients), by the step they belong to")


def plot(records: pd.DataFrame, published: pd.DataFrame, task: str = TASK) -> Figure:
    """Draw the fastest placement of HDP, or the human expert's before there is one.

    It is read from beside its record, its graph from the results or the cache; InputError says
    which of them is not there.
    """
    comparison = beside_table1(records, published, CHOICE)
    row = next(row for row in comparison.rows if row.task == task)
    record = _chosen(comparison, row)
    if record is None:
        raise InputError(f"no valid placement of {' or '.join(CHOICE)} is recorded")
    problem, devices = recorded(record)
    valid = comparison.ours(row, str(record["placer"])).values
    return _draw(row, record, len(valid), problem, unroll(problem, devices))


def _chosen(comparison: Comparison, row: Row) -> pd.Series | None:
    for placer in CHOICE:
        mine = comparison.of_cell(row, placer)
        valid = mine[mine["status"] == "ok"].sort_values("step_time", kind="stable")
        if not valid.empty:
            return valid.iloc[0]
    return None


def _draw(row: Row, record: pd.Series, of: int, problem: Problem, found: Unrolled) -> Figure:
    """Draw ``record``, the fastest ``of`` so many."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 0.5 * len(found.layers) + 2.2))
    time = metric("step_time").format(record["step_time"])
    whose = f"{SHORT[str(record['placer'])]} (grid {record['grid']}, seed {record['seed']})"
    seeds = f", the fastest of {of} seeds" * (of > 1)
    figure.suptitle(f"{row.label}, {row.gpus} GPUs: {whose}, {time} s a step{seeds}", fontsize=12)
    names = [device.name for device in problem.machine.devices]
    colours = _colours(names)
    axes = figure.subplots(2, 1, sharex=True)
    for ax, shares, title in zip(axes, found.shares, PASSES, strict=True):
        _panel(ax, shares, found.layers, colours)
        ax.set_title(title)
    axes[-1].set_xlabel(
        "unrolled step; a cell is split by the compute time of its operations on each device"
        f" ({found.elsewhere:.0%} of the time is in no step: weights, Adam, sums of gradients)",
        fontsize=8.5,
    )
    spent = found.seconds.sum(axis=(0, 1, 2))
    handles = _legend(names, colours, spent / spent.sum())
    title = "device and its share of the compute time shown"
    figure.legend(handles=handles, title=title, loc="outside lower center", ncols=5)
    return figure


def _colours(names: list[str]) -> list[str]:
    gpus = iter(GPUS)
    return [CPU if name.startswith("cpu") else next(gpus) for name in names]


def _panel(
    ax: Axes, shares: NDArray[np.float64], layers: tuple[str, ...], colours: list[str]
) -> None:
    """Draw ``shares``, float64[layers, steps, devices], the inputs' layer at the bottom."""
    steps = np.arange(shares.shape[1])
    for y, cells in enumerate(shares):
        bottom = np.full(len(steps), y - FILLED / 2)
        for device, colour in enumerate(colours):
            height = FILLED * cells[:, device]
            ax.bar(steps, height, FILLED, bottom=bottom, color=colour, linewidth=0)
            bottom = bottom + height
    ax.set_yticks(range(len(layers)), [layer_name(layer) for layer in layers], fontsize=8)
    ax.set_ylim(-0.6, len(layers) - 0.4)
    ax.set_xlim(-0.7, len(steps) - 0.3)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[["left", "bottom"]].set_visible(False)


def _legend(names: list[str], colours: list[str], shares: NDArray[np.float64]) -> list[Patch]:
    from matplotlib.patches import Patch

    pairs = zip(names, colours, shares, strict=True)
    return [Patch(color=colour, label=f"{name}, {share:.0%}") for name, colour, share in pairs]
