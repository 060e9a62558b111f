"""What ``place`` keeps while it goes on: whatever ends it early, the best that it met is there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from suite.core.errors import InputError
from suite.core.one_line import say_on_one_line

if TYPE_CHECKING:
    from suite.bench.compare import Answer, Trial

Write = Callable[["Answer", Path], None]
"""Writes an answer to a file; OSError or InputError where that cannot be."""


class Keeper:
    """Writes answers as they come, each in place of the one before."""

    def __init__(self, placer: str, writes: Mapping[Path, Write]) -> None:
        """Write the answers of ``placer``, unless told otherwise, to each file as it is written."""
        self.placer, self._writes = placer, writes
        self.answer: Answer | None = None
        """What came last, written or not."""
        self.troubles: dict[Path, str] = {}
        """The files to which it could not be written, and why in words."""

    def __call__(self, answer: Answer) -> None:
        """Write an answer; where that cannot be, the search goes on, and :meth:`settle` tells."""
        # An interrupt may come before all are written; then they are tried again.
        self.answer, self.troubles = answer, {path: f"cannot write {path}" for path in self._writes}
        for path, write in self._writes.items():
            try:
                write(answer, path)
                del self.troubles[path]
            except OSError as error:
                self.troubles[path] = f"cannot write {path}: {error.strerror or error}"
            except InputError as error:  # it has become a folder or a device since
                self.troubles[path] = str(error)

    def take(self, trial: Trial) -> None:
        """Write the answer of another placer where it fits in memory and what is kept is slower."""
        if trial.answer is None or trial.answer.result.oom.any():
            return
        kept = None if self.answer is None else self.answer.result
        if kept is None or kept.oom.any() or trial.answer.result.step_time < kept.step_time:
            self(trial.answer)
            self.placer = trial.placer

    def settle(self) -> list[Path]:
        """Return the files that hold the answer, once what could not be written is tried again.

        What still cannot be goes into a new folder for temporary files, which is said.
        """
        if self.answer is None:
            return []
        if self.troubles:
            self(self.answer)
        files = [path for path in self._writes if path not in self.troubles]
        for path, why in self.troubles.items():
            aside = _aside(self._writes[path], self.answer, path.name)
            if aside is None:
                say_on_one_line(f"error: {why}; make room, there and for temporary files")
            else:
                files.append(aside)
                say_on_one_line(f"error: {why}; copy {aside}, which was written instead")
        return files

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Where an exception ends what is done within, say what is kept; then it goes on."""
        try:
            yield
        except BaseException:
            if self.answer is not None and (files := self.settle()):
                say_on_one_line(_told(self.placer, self.answer, files))
            raise


def _aside(write: Write, answer: Answer, name: str) -> Path | None:
    """Write to a file of that name in a new folder for temporary files; None: nor can that be."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="placebench-"))
    except OSError:
        return None
    try:
        write(answer, folder / name)
    except (OSError, InputError):
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return folder / name


def _told(placer: str, answer: Answer, files: list[Path]) -> str:
    spent = f" after {answer.evaluations:,} evaluations" if answer.evaluations else ""
    full = ", which does not fit in memory" if answer.result.oom.any() else ""
    seconds = f"{answer.result.step_time:.6f} s"
    names = " and ".join(map(str, files))
    return f"kept {names}: the best of {placer}{spent}, step time {seconds}{full}"
