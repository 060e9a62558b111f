"""Panels of a page: one a task, in the paper's order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from suite.report.plot_style import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def panels(count: int, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """A full-width figure with ``count`` axes in rows of ``columns``, ``height`` inches each."""
    from matplotlib.figure import Figure

    rows = -(-count // columns)
    figure = Figure(figsize=(WIDTH, height * rows + 0.6))
    axes = [figure.add_subplot(rows, columns, i + 1) for i in range(count)]
    return figure, axes
