"""How long this process has been compiling; costs nothing where nothing is compiled.

:mod:`suite.core.compilation` reports here, so that clocks need not load numba.
"""

from __future__ import annotations

import sys
import time


class CompileTime:
    """Seconds spent on compiling. What is compiled within another compilation counts once."""

    def __init__(self) -> None:
        """Nothing has been compiled."""
        self._depth = 0
        self._wall = self._processor = 0.0
        self._begun = self._begun_processor = 0.0
        self._message: str | None = None
        self._said: set[str] = set()

    @property
    def wall(self) -> float:
        """Wall-clock seconds, those of a compilation that is going on included."""
        going_on = time.monotonic() - self._begun if self._depth else 0.0
        return self._wall + going_on

    @property
    def processor(self) -> float:
        """CPU seconds of the compilations that have ended."""
        return self._processor

    def announce(self, message: str) -> None:
        """Print this line to standard error when the next compilation begins, once a process."""
        self._message = None if message in self._said else message

    # numba compiles under one lock for all threads, so that what begins and ends here is nested.
    def begin(self) -> None:
        """A compilation begins, in this thread."""
        self._depth += 1
        if self._depth > 1:
            return
        self._begun, self._begun_processor = time.monotonic(), time.thread_time()
        if self._message is not None:
            print(self._message, file=sys.stderr, flush=True)
            self._said.add(self._message)
            self._message = None

    def end(self) -> None:
        """A compilation ends, in the thread in which it began."""
        self._depth -= 1
        if self._depth == 0:
            self._wall += time.monotonic() - self._begun
            self._processor += time.thread_time() - self._begun_processor


COMPILE_TIME = CompileTime()
"""Of this process."""
FIRST_USE = "compiling what simulates and places: about a minute, once on each host"
"""For :meth:`CompileTime.announce`."""
