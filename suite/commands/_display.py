"""What a run shows: a line per search and a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from suite.search.progress_log import Progress

EVERY = 30.0
"""Seconds between two plain lines of one search."""


def add_tensorboard(parser: argparse.ArgumentParser) -> None:
    """--tensorboard."""
    parser.add_argument(
        "--tensorboard", type=Path, metavar="DIR", help="write TensorBoard files of searches too"
    )


class Display:
    """Shows searches as they run and cells as they end."""

    def __init__(self, cells: int = 0, stream: TextIO | None = None) -> None:
        """Prepare for ``cells`` cells (0: no bar) on ``stream`` (standard output)."""
        self.cells = cells
        self.stream = stream or sys.stdout
        self._live: Any = None
        self._bar: Any = None
        self._lines: dict[str, str] = {}
        self._told: dict[str, float] = {}

    def __enter__(self) -> Display:
        """Start where there is a terminal."""
        if self.stream.isatty():
            from rich.console import Console
            from rich.live import Live
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            console = Console(file=self.stream, highlight=False)
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(*columns, console=console)
            if self.cells:
                self._bar.add_task("cells", total=self.cells)
            self._live = Live(get_renderable=self._shown, console=console, transient=True)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        if self._live is not None:
            self._live.stop()

    def _shown(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        lines = (Text(f"{name} {line}") for name, line in sorted(self._lines.items()))
        return Group(*lines, self._bar)

    def searching(self, name: str, progress: Progress) -> None:
        """Show where a search is."""
        if self._live is not None:
            self._lines[name] = progress.line()
            return
        now = time.monotonic()
        if now - self._told.setdefault(name, now) >= EVERY:
            self._told[name] = now
            print(f"{name:46} {progress.line()}", file=self.stream, flush=True)

    def say(self, line: str) -> None:
        """Print a line that is of no one cell."""
        if self._live is None:
            print(line, file=self.stream, flush=True)
            return
        self._live.console.print(line, markup=False, soft_wrap=True)

    def finished(self, name: str, line: str) -> None:
        """Print the line of a cell that ended."""
        self._lines.pop(name, None)
        self.say(line)
        if self._live is not None:
            self._bar.advance(self._bar.task_ids[0])
