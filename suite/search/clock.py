"""Seconds of a search, summed over all the processes that took turns at it."""

from __future__ import annotations

import os
import time


class Clock:
    """Wall-clock and CPU seconds since the search began, pauses between processes left out."""

    def __init__(self) -> None:
        """Start at zero."""
        self.resume(0.0, 0.0)

    def resume(self, wall: float, processor: float) -> None:
        """Go on from what an earlier process had spent."""
        self._wall = time.monotonic() - wall
        self._processor = _processor_seconds() - processor

    @property
    def wall(self) -> float:
        """Seconds gone by."""
        return time.monotonic() - self._wall

    @property
    def processor(self) -> float:
        """Seconds of CPU time, summed over cores and children that ended."""
        return _processor_seconds() - self._processor


def _processor_seconds() -> float:
    """CPU seconds of this process and of the children it waited for (native partitioners)."""
    return sum(os.times()[:4])
