"""What a driver and the nodes of a cluster send each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from suite.bench.cell import Job
from suite.bench.record import Record
from suite.search.progress_log import Progress

Files = Mapping[str, bytes]
"""Path -> content. Paths of records and searches begin with the folder that they lie in, RESULTS or
BOARD, wherever each side has that."""
RESULTS, BOARD = "results", "board"


@dataclass(frozen=True)
class Parcel:
    """A cell for a node, with what it needs there."""

    job: Job
    """Its graph file, if it has one, is a name in ``supplies``."""
    supplies: Mapping[str, Any]
    """Captured graphs and graph files: path below the cache folder -> Ray's reference to the
    content, which the node asks for only where it has no such file."""
    search: Files
    """The checkpoint and the log of a search that was begun before."""


@dataclass(frozen=True)
class Done:
    """A cell that ended."""

    name: str
    record: Record
    files: Files
    """All that it has written, the record last."""


@dataclass(frozen=True)
class Report:
    """What happened on a node since its last report."""

    done: tuple[Done, ...]
    progress: Mapping[str, Progress]
    """Where the searches are, by the name of their cell."""
    saved: Files
    """Checkpoints that were written, with their logs."""
