"""Signals that end a program from outside, taken like Ctrl-C: what was found is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
"""What ``timeout``, ``kill``, a batch system and a terminal that closes send."""


class Stopped(KeyboardInterrupt):
    """One of ``SIGNALS`` came."""

    def __init__(self, number: int) -> None:
        """``number``: of the signal."""
        super().__init__()
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Raise Stopped within where one of ``SIGNALS`` comes; one that is ignored (nohup) stays so.

    Only the first counts: ``timeout`` sends its own twice, and what is kept is written meanwhile.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        before = {one: signal.getsignal(one) for one in SIGNALS}
    taken = [one for one, handler in before.items() if handler == signal.SIG_DFL]

    def stop(number: int, frame: FrameType | None) -> None:
        for one in taken:
            signal.signal(one, signal.SIG_IGN)
        raise Stopped(number)

    for one in taken:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in taken:
            signal.signal(one, before[one])
