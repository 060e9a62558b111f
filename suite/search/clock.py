"""Seconds of a search, summed over all the processes that took turns at it."""

from __future__ import annotations

import os
import time

from suite.core.compile_time import COMPILE_TIME


class Clock:
    """Wall-clock and CPU seconds since the search began.

    Pauses between processes are left out, and so is what the first use of a kernel costs: to
    compile it, once on each host, is no part of a search.
    """

    def __init__(self) -> None:
        """Start at zero."""
        self.resume(0.0, 0.0)

    def resume(self, wall: float, processor: float) -> None:
        """Go on from what an earlier process had spent."""
        self._compiled = COMPILE_TIME.wall
        self._wall = _wall_seconds() - wall
        self._processor = _processor_seconds() - processor

    @property
    def wall(self) -> float:
        """Seconds gone by."""
        return _wall_seconds() - self._wall

    @property
    def processor(self) -> float:
        """Seconds of CPU time, summed over cores and children that ended."""
        return _processor_seconds() - self._processor

    @property
    def compiling(self) -> float:
        """Wall-clock seconds of compilation in this process since then, which do not count."""
        return COMPILE_TIME.wall - self._compiled


def _wall_seconds() -> float:
    return time.monotonic() - COMPILE_TIME.wall


def _processor_seconds() -> float:
    """CPU seconds of this process and of the children it waited for (native partitioners)."""
    return sum(os.times()[:4]) - COMPILE_TIME.processor
