"""Panels of a page: one a task, in the paper's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from suite.comparison import Comparison
from suite.figure import WIDTH
from suite.tables.hdp_table1 import GRID, MACHINE, MORE, PAPER, SEEDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEADS = PAPER | MORE
"""Placers shown, in order, and their names."""


def hdp(records: pd.DataFrame, published: pd.DataFrame) -> Comparison:
    """The records of HDP's Table 1 beside its printed cells."""
    printed = published[(published["paper"] == "HDP") & (published["table"] == "1")]
    return Comparison.of(records, printed, SEEDS, GRID, MACHINE)


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A full-width figure with ``count`` axes in rows of ``columns``, ``height`` inches each."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH, height * rows + 0.6))
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    return figure, axes
