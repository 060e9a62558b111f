"""What a running grid shows: a bar and a line per search on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suite.cell import Job
    from suite.journal import Progress

EVERY = 30.0
"""Seconds between two plain lines of one search."""


class Display:
    """Shows cells as they run and end."""

    def __init__(self, total: int) -> None:
        """Prepare for ``total`` cells."""
        self.total = total
        self._bar: Any = None
        self._cells: Any = None
        self._lines: dict[str, Any] = {}
        self._told: dict[str, float] = {}

    def __enter__(self) -> Display:
        """Start the bar where there is a terminal."""
        if sys.stdout.isatty() and self.total:
            from rich import progress

            text = progress.TextColumn("{task.description}")
            self._bar = progress.Progress(
                text, progress.BarColumn(), progress.MofNCompleteColumn(), expand=False
            )
            self._bar.start()
            self._cells = self._bar.add_task("cells", total=self.total)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    def searching(self, job: Job, progress: Progress) -> None:
        """Show where a search is."""
        name = job.cell.name
        if self._bar is None:
            now = time.monotonic()
            if now - self._told.setdefault(name, now) >= EVERY:
                self._told[name] = now
                print(f"{name:46} {progress.line()}", flush=True)
            return
        if name not in self._lines:
            self._lines[name] = self._bar.add_task("", total=None)
        self._bar.update(self._lines[name], description=f"{name} {progress.line()}")

    def finished(self, job: Job, line: str) -> None:
        """Print the line of a cell that ended."""
        if self._bar is None:
            print(line, flush=True)
            return
        if job.cell.name in self._lines:
            self._bar.remove_task(self._lines.pop(job.cell.name))
        self._bar.console.print(line, highlight=False, soft_wrap=True)
        self._bar.advance(self._cells)
