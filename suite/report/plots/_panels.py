"""Panels of a page: one a task, in the paper's order."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import pandas as pd

from suite.report.comparison import Comparison
from suite.report.plot_style import WIDTH
from suite.report.tables.hdp_table1 import GRIDS, LEARNED, MACHINE, MORE, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS = PAPER | {LEARNED: "HDP"} | MORE
"""Placers of most plots, in order, and their names."""


def hdp(
    records: pd.DataFrame, published: pd.DataFrame, placers: Collection[str] = HEADS
) -> Comparison:
    """The records of HDP's Table 1 beside its printed cells, for the named placers."""
    printed = published[(published["paper"] == "HDP") & (published["table"] == "1")]
    return Comparison.of(records, printed, placers, GRIDS, MACHINE)


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A full-width figure with ``count`` axes in rows of ``columns``, ``height`` inches each."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH, height * rows + 0.6))
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    return figure, axes
