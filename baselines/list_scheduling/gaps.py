"""When a device is free: its busy intervals in order of time, compiled."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def first_fit(starts, ends, count, earliest, duration):  # type: ignore[no-untyped-def]
    """Return the first time >= ``earliest`` at which ``duration`` seconds are free.

    The device is busy from ``starts[i]`` to ``ends[i]`` for i < ``count`` (float64, ascending).
    """
    time = earliest
    for i in range(np.searchsorted(ends[:count], earliest, side="right"), count):
        if time + duration <= starts[i]:
            return time
        time = max(time, ends[i])
    return time


@numba.njit(cache=True)
def occupy(starts, ends, count, start, end):  # type: ignore[no-untyped-def]
    """Insert a busy interval; the caller counts it."""
    place = np.searchsorted(starts[:count], start, side="right")
    for i in range(count, place, -1):
        starts[i], ends[i] = starts[i - 1], ends[i - 1]
    starts[place], ends[place] = start, end
