"""How many cores this process may keep busy, while others of the same run use the rest."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Share:
    """One process's part of this host. It decides how fast things go, never what they give."""

    workers: int
    """Processes that run cells side by side."""
    threads: int
    """Threads of each."""

    @classmethod
    def of(cls, workers: int) -> Share:
        """Divide the cores by that many workers; every one has a thread at least."""
        return cls(workers, max(1, cores() // max(1, workers)))


_mine: Share | None = None


def cores() -> int:
    """The cores that the operating system lets this process use."""
    return len(os.sched_getaffinity(0))


def my_share() -> Share:
    """What this process was given; all cores where nobody said."""
    return _mine or Share.of(1)


def take_share(share: Share) -> None:
    """Keep to ``share`` from now on, in this whole process."""
    global _mine
    _mine = share
