"""One run at a time writes into a results folder, and one training into its policy file."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Protocol

from suite.bench.record import RECORDS, records_below
from suite.core.errors import InputError
from suite.core.processes import is_running

FILE = ".lock"
WITHOUT = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Errors of a file system that has no locks."""
PATIENCE = 20.0
"""Seconds to wait for the workers of a run that is gone; they end within a moment of it."""


class _Passed(Protocol):
    """A file descriptor on its way to a child process."""

    def detach(self) -> int: ...


class HeldOpen:
    """The file descriptor that holds a lock; a process that is started with it holds it too."""

    def __init__(self, number: int) -> None:
        """Wrap the descriptor ``number``."""
        self.number = number

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle it for a process that is being started: the only way that descriptors travel."""
        return _received, (DupFd(self.number),)


def _received(passed: _Passed) -> HeldOpen:
    return HeldOpen(passed.detach())


def results_of(path: Path) -> set[Path]:
    """The results folders, absolute, of a record or of all those somewhere below a folder.

    A run holds the folder that its grids lie in, whichever part of it is to be brought up to date.
    Where records are not laid out as bench does, and where there is none, it is the folder itself.
    InputError if it is not there.
    """
    if not path.exists():
        raise InputError(f"there is no {path}; run bench first, or give the folder of its --output")
    folder = path if path.is_dir() else path.parent
    levels = RECORDS.count("/")
    records = [record.absolute() for record in records_below(path)]
    found = {record.parents[levels] for record in records if record.match(RECORDS)}
    return found or {folder.absolute()}


@contextmanager
def all_locked(path: Path) -> Iterator[None]:
    """Hold all results folders of the records at or below ``path``, as :func:`locked` holds one."""
    with ExitStack() as held:
        for results in sorted(results_of(path)):
            held.enter_context(locked(results))
        yield


@contextmanager
def locked(results: Path) -> Iterator[HeldOpen]:
    """Hold ``results`` for this run; InputError, with the process's number, where another does.

    Two runs would write the same logs and checkpoints. The system itself lets go of the lock when
    the run and all its workers are gone, however they ended, so that none is ever stale. Yields
    what the workers must be started with.
    """
    results.mkdir(parents=True, exist_ok=True)
    with _held(results / FILE, results) as handle:
        yield handle


@contextmanager
def output_locked(output: Path) -> Iterator[None]:
    """Hold one file to be written, as :func:`locked` holds a folder, by a hidden one beside it."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with _held(output.with_name(f".{output.name}{FILE}"), output):
        yield


@contextmanager
def _held(file: Path, written: Path) -> Iterator[HeldOpen]:
    """Hold the lock in ``file``; ``written`` is what it stands for.

    On a file system without locks one is warned and goes on: what a lock prevents is rare, and
    there would be no other way to write there.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            _take(handle, written)
        except OSError as error:
            if error.errno not in WITHOUT:
                raise
            warnings.warn(
                f"{file} cannot be locked ({error.strerror}); start no other run that writes into"
                f" {written}",
                stacklevel=2,
            )
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield HeldOpen(handle)
    finally:
        os.close(handle)


def _take(handle: int, written: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        holder = _holder(handle)
        if (holder is not None and is_running(holder)) or time.monotonic() > end:
            who = "another run" if holder is None else f"process {holder}"
            raise InputError(
                f"{who} is writing into {written}; wait until it ends, or give another --output"
            )
        time.sleep(0.1)


def _holder(handle: int) -> int | None:
    """The process that took the lock; None in the instant before it has written its number."""
    text = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
