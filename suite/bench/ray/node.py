"""A node of a cluster: the worker processes of this host, run for a driver elsewhere.

Cells run as they do in a local bench, in a results folder of the node's own, from which all that a
cell has written goes to the driver. The cache folder is the run's own, too: machines are what the
driver calls by their names. Captured graphs and compiled code stay in the host's cache, where their
names say what they are, and are there for the next run.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The environment must be set before what reads it is loaded.
if TYPE_CHECKING:
    from suite.bench.cell import Job
    from suite.bench.ray.messages import Done, Files, Parcel, Report
    from suite.bench.record import Record
    from suite.search.progress_log import Progress

FOLDER = "placebench-node-"
"""Of a node's temporary folders; the number of its process comes next."""
PACE = 1.0
"""Seconds until a report is due although no cell has ended."""


@dataclass(frozen=True)
class Settings:
    """What a driver says to all its nodes."""

    machines: Files
    """Files of the machines that do not come with placebench, below the cache folder."""
    samples: Sequence[Job]
    """A job of every kind in the grid, for what is compiled before the first cell."""
    cells: int
    """How many there are to run; no node has more processes than that."""
    workers: int | None
    """Processes on each node; None: one a CPU."""
    interval: float
    """Seconds from one checkpoint to the next."""
    board: bool
    """Whether searches write TensorBoard files."""

    def slots(self, cpus: int) -> int:
        """Processes on a node with so many CPUs."""
        return min(self.workers or cpus, self.cells)


class Node:
    """The process on a node (an actor of Ray's)."""

    def __init__(self, cpus: int, settings: Settings) -> None:
        """Make the folders and compile; no cell's process is started yet."""
        from suite.core.paths import cache_folder

        # Started by "spawn", children import this process's main file: that of Ray's worker, and
        # with it Ray, of which they need nothing.
        vars(sys.modules["__main__"]).pop("__file__", None)
        # Ray's, for the threads of libraries in the actor itself; a local bench has none.
        os.environ.pop("OMP_NUM_THREADS", None)
        # Which cell of several would have it is not to be decided by chance.
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        self.kept = cache_folder()
        _tidy()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-"))
        self.cache = self.folder / "cache"
        os.environ.setdefault("NUMBA_CACHE_DIR", str(self.kept / "numba"))
        os.environ["PLACEBENCH_CACHE"] = str(self.cache)
        _write(settings.machines, self.cache)

        from suite.bench.cell_files import Outlets
        from suite.bench.executor import Pool
        from suite.bench.ray.messages import BOARD, RESULTS
        from suite.bench.warm_up import compiling, needed
        from suite.core.cores import Share

        slots = settings.slots(cpus)
        board = self.folder / BOARD if settings.board else None
        self.outlets = Outlets(self.folder / RESULTS, board, settings.interval)
        self.pool = Pool(self.outlets, Share(slots, max(1, cpus // slots)))
        self.progress: dict[str, Progress] = {}
        self.sent: dict[str, int] = {}
        with compiling(needed([self._local(job) for job in settings.samples])):
            pass

    def installation(self) -> Mapping[str, str]:
        """What must be the same on all nodes."""
        from suite.search.ray.installation import installation

        return installation()

    def step(self, parcels: Iterable[Parcel]) -> Report:
        """Begin with these cells, of which there may be no more than processes are idle.

        Reports when cells end, at the latest after PACE seconds.
        """
        from suite.bench.ray.messages import Report

        if self.pool.failed is not None:
            raise self.pool.failed
        for parcel in parcels:
            self._begin(parcel)
        until = time.monotonic() + PACE
        done: list[Done] = []
        while not done and (left := until - time.monotonic()) > 0:
            for job, record in self.pool.collect(self._hear, left):
                done.append(self._done(job, record))
            # What has ended is reported first.
            if self.pool.failed is not None and not done:
                raise self.pool.failed
        report = Report(tuple(done), self.progress, self._saved())
        self.progress = {}
        return report

    def close(self) -> None:
        """End the processes and remove the folders."""
        self.pool.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _begin(self, parcel: Parcel) -> None:
        for name, reference in parcel.supplies.items():
            self._supply(name, reference)
        _write(parcel.search, self.folder)
        if not self.pool.idle:
            self.pool.start(1)
        self.pool.assign(self._local(parcel.job))

    def _local(self, job: Job) -> Job:
        if job.graph_file is None:
            return job
        # One that is gone has kept its absolute path.
        return replace(job, graph_file=str(self.cache / job.graph_file))

    def _supply(self, name: str, reference: Any) -> None:
        """Have a file in the cache, from the host's own where it is there."""
        import ray

        kept, here = self.kept / name, self.cache / name
        if here.exists():
            return
        if not kept.exists():
            _write({name: ray.get(reference)}, self.kept)
        here.parent.mkdir(parents=True, exist_ok=True)
        here.symlink_to(kept.absolute())

    def _hear(self, name: str, progress: Progress) -> None:
        self.progress[name] = progress

    def _done(self, job: Job, record: Record) -> Done:
        from suite.bench.ray.messages import Done

        name = job.cell.name
        self.progress.pop(name, None)
        self.sent.pop(name, None)
        # Of a search that failed the checkpoint is there, for the next bench.
        paths = [*self.outlets.checkpoints(job), *self.outlets.board_files(job)]
        paths += self.outlets.of_record(job)
        done = Done(name, record, self._read(paths))
        for path in paths:
            path.unlink(missing_ok=True)
        return done

    def _saved(self) -> Files:
        """The checkpoints that are new, with their logs."""
        found: dict[str, bytes] = {}
        for job in self.pool.running:
            path, name = self.outlets.checkpoint_path(job), job.cell.name
            written = path.stat().st_mtime_ns if path.exists() else 0
            if written > self.sent.get(name, 0):
                self.sent[name] = written
                paths = [*self.outlets.of_search(job), *self.outlets.board_files(job)]
                found |= self._read(paths)
        return found

    def _read(self, paths: Iterable[Path]) -> Files:
        """Those of the files that are there."""
        there = (path for path in paths if path.exists())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in there}


def _tidy() -> None:
    """Remove the folders of nodes that were killed."""
    from suite.core.processes import is_running

    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        owner = path.name.removeprefix(FOLDER).partition("-")[0]
        if not owner.isdecimal() or not is_running(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _write(files: Files, folder: Path) -> None:
    from suite.formats.atomic import atomic

    for name, content in files.items():
        with atomic(folder / name) as temporary:
            temporary.write_bytes(content)
