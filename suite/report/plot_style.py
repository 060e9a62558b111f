"""One look for all plots, and PNG files that are the same to the byte from the same data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 10.0
"""Inches of a full-width plot: 1,500 pixels, readable when shown at 1,200."""
DPI = 150
OURS, PUBLISHED, FAILED, MUTED = "#2f6f9f", "#d9822b", "#b3261e", "#6b7280"
STYLE: Any = {
    "font.family": "DejaVu Sans",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "legend.frameon": False,
    "figure.dpi": DPI,
    "figure.constrained_layout.use": True,
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with this look alone, whatever the user's matplotlib is set to."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def png(figure: Figure) -> bytes:
    """Render a figure without the metadata that change from run to run.

    ``savefig`` draws everything once more beforehand, for figures that are cut to what is in them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    buffer = io.BytesIO()
    canvas = FigureCanvasAgg(figure)
    canvas.print_png(buffer, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return buffer.getvalue()
