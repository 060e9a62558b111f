"""When a device is free: its busy intervals in order of time, compiled."""

from __future__ import annotations

import numpy as np

from suite.core.arrays import Floats
from suite.core.compilation import kernel


@kernel
def first_fit(starts: Floats, ends: Floats, count: int, earliest: float, duration: float) -> float:
    """Return the first time >= ``earliest`` at which ``duration`` seconds are free.

    The device is busy from ``starts[i]`` to ``ends[i]`` for i < ``count`` (float64, ascending).
    """
    time = earliest
    # What ends before then is in nobody's way.
    for i in range(np.searchsorted(ends[:count], earliest, side="right"), count):
        if time + duration <= starts[i]:
            return time
        time = max(time, ends[i])
    return time


@kernel
def occupy(starts: Floats, ends: Floats, count: int, start: float, end: float) -> None:
    """Insert a busy interval; the caller counts it."""
    # Intervals stay in order of time; most go to the end, where nothing has to move.
    place = np.searchsorted(starts[:count], start, side="right")
    for i in range(count, place, -1):
        starts[i], ends[i] = starts[i - 1], ends[i - 1]
    starts[place], ends[place] = start, end
