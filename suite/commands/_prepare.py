"""What a bench does once on a host before its first cell: capture graphs, compile."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from suite.bench.cell import Job


@contextmanager
def prepared(jobs: list[Job], results: Path, workers: int, here: bool) -> Iterator[None]:
    """Capture the graphs that are not here yet; compile meanwhile, and until this is left.

    Nothing is compiled for a grid whose cells all have a record in ``results``, unless graphs are
    missing, too: then there is nothing to run, or not much. Nor is it where the cells do not run
    ``here``.
    """
    from suite.bench.warm_up import compiling, needed
    from suite.capture.cache import missing

    todo = missing([job.cell.task for job in jobs if job.graph_file is None])
    waiting = [job for job in jobs if not job.cell.path(results).exists()]
    lacking = needed(waiting) if here else []
    if lacking and not workers:
        _say("compiling as cells need it (once; a minute or two)")
    # Without workers this process is to do everything itself.
    kinds = lacking if workers else []
    start = time.monotonic()
    if todo:
        also = " and compiling" if kinds else ""
        _say(f"capturing {', '.join(todo)} from TensorFlow{also} (once; minutes)")
    elif kinds:
        _say("compiling (once; a minute or two)")
    with compiling(kinds):
        if todo:
            _capture(todo, max(1, workers), start)
        yield
    if kinds:
        _say(f"compiled after {time.monotonic() - start:.0f} s")


def _capture(names: list[str], workers: int, start: float) -> None:
    """Capture on all cores, and say how far it is."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from suite.capture.cache import capture_all

    console = Console(file=sys.stdout, highlight=False)
    columns = TextColumn("captured"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        row = bar.add_task("", total=len(names))
        for done, name in enumerate(capture_all(names, workers), 1):
            seconds = time.monotonic() - start
            _say(f"captured {name} ({done} of {len(names)}) after {seconds:.0f} s")
            bar.advance(row)


def _say(line: str) -> None:
    print(line, flush=True)
