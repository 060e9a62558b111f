"""Where the searches of a run leave their traces."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from suite.bench.cell import Job
from suite.bench.fingerprint import fingerprint
from suite.bench.made_by import code_of
from suite.core.errors import InputError
from suite.search.checkpoint import INTERVAL, Checkpoint, aside
from suite.search.progress_log import Journal, Listener, most_steps
from suite.search.registry import make_placer


@dataclass(frozen=True)
class Outlets:
    """Folders and pace."""

    results: Path
    """Folder of the records; a search's CSV and checkpoint lie beside its record."""
    board: Path | None = None
    """Folder of TensorBoard event files, a folder below it for every cell; None: none."""
    interval: float = INTERVAL
    """Seconds from one checkpoint to the next; 0: one every step."""

    def journal(self, job: Job, listener: Listener | None) -> Journal:
        """The journal of a job's search."""
        board = None if self.board is None else self.board / job.cell.name
        steps = most_steps(make_placer(job.placer, job.parameters))
        return Journal(job.cell.path(self.results).with_suffix(".csv"), board, listener, steps)

    def checkpoint_path(self, job: Job) -> Path:
        """Where the checkpoint of a job's search is."""
        return job.cell.path(self.results).with_suffix(".checkpoint.npz")

    def checkpoints(self, job: Job) -> list[Path]:
        """Where that is, and where one is that was set aside."""
        path = self.checkpoint_path(job)
        return [path, aside(path)]

    def checkpoint(self, job: Job) -> Checkpoint:
        """The checkpoint of a job's search."""
        path = self.checkpoint_path(job)
        identity = f"{fingerprint(job)} {code_of(job)['digest']}"
        return Checkpoint(path, identity, self.interval)

    def of_record(self, job: Job) -> list[Path]:
        """The files of a finished cell, the record last: it is what makes the cell finished."""
        record = job.cell.path(self.results)
        return [record.with_suffix(".csv"), record.with_suffix(".npz"), record]

    def of_search(self, job: Job) -> list[Path]:
        """The files from which a search goes on.

        The checkpoint comes first: a log that is longer than it can be cut, a shorter one cannot.
        """
        return [self.checkpoint_path(job), job.cell.path(self.results).with_suffix(".csv")]

    def board_files(self, job: Job) -> list[Path]:
        """The TensorBoard files that a cell has written so far."""
        return [] if self.board is None else sorted((self.board / job.cell.name).glob("*"))

    def spent(self, job: Job) -> float:
        """Seconds that a job's search had taken when its checkpoint was written; 0 without one."""
        try:
            return self.checkpoint(job).spent()
        except InputError:  # its graph cannot be read; the job itself will say so
            return 0.0
