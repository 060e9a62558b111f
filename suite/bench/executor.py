"""Runs jobs in worker processes: a crash, a hang or a kill costs one cell.

A worker writes its record itself, whole, before it reports; the parent writes the record of a
worker that died or took too long, and starts a fresh one. Jobs are handed out in the grid's order,
task by task, so that a worker finds graph, simulator and bound ready from the job before.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from suite.bench.cell import Job
from suite.bench.cell_files import Outlets
from suite.bench.lock import HeldOpen
from suite.bench.record import Record, read_record
from suite.bench.worker import Answer, Opening, run_and_write, serve, write_failure
from suite.core.cores import Share, my_share
from suite.core.errors import InputError
from suite.core.processes import how_it_ended
from suite.search.progress_log import Progress

_SPAWN = multiprocessing.get_context("spawn")

Tell = Callable[[str, Progress], None]
"""Hears the name of a cell and where its search is."""


def execute(
    jobs: Sequence[Job],
    outlets: Outlets,
    workers: int,
    tell: Tell | None = None,
    lock: HeldOpen | None = None,
    pool: Pool | None = None,
) -> Iterator[tuple[Job, Record]]:
    """Run jobs on ``workers`` processes and yield each with its record when done.

    The processes share the cores evenly. ``tell`` hears of searches that are under way, about once
    a second from each. ``lock`` is held by the workers as well. ``pool`` has processes that have
    been started, and is stopped with the others. With 0 workers the jobs run in this process, where
    a crash is fatal and time limits do not hold. Closing the iterator, or an exception in the
    caller, stops the workers; so does the death of this process. Raises OSError when a record
    cannot be written or no process be started: with processes, when the jobs that run by then have
    ended and been yielded.
    """
    if workers == 0:
        for job in jobs:
            listener = partial(tell, job.cell.name) if tell else None
            yield job, run_and_write(job, outlets, my_share(), listener)
        return
    pool = pool or Pool(outlets, Share.of(min(workers, max(1, len(jobs)))), lock)
    waiting = deque(jobs)
    try:
        pool.start(min(workers, len(jobs)) - pool.idle)
        told = False
        while True:
            while waiting and pool.idle and pool.failed is None:
                pool.assign(waiting.popleft())
            if not pool.running:
                break
            if pool.failed is not None and not told:
                warnings.warn(f"{pool.failed}: no other cell is begun", stacklevel=2)
                told = True
            yield from pool.collect(tell)
        if pool.failed is not None:
            raise pool.failed
    finally:
        pool.stop()


class Pool:
    """Worker processes, each with a job or idle."""

    def __init__(self, outlets: Outlets, share: Share, lock: HeldOpen | None = None) -> None:
        """Start nothing yet; each process will keep to ``share``."""
        self._given = outlets, share, lock
        self._workers: list[_Worker] = []
        self.failed: OSError | None = None
        """Why a job could not be begun, or its record not be written: none is to be begun then."""

    def start(self, count: int) -> None:
        """Start ``count`` more processes; OSError where the system refuses."""
        for _ in range(count):
            self._workers.append(_Worker(*self._given))

    @property
    def running(self) -> list[Job]:
        """The jobs that processes are at."""
        return [worker.job for worker in self._workers if worker.job is not None]

    @property
    def idle(self) -> int:
        """How many processes have no job."""
        return sum(worker.job is None for worker in self._workers)

    def open(self, job: Job) -> None:
        """Have the first process, which must be idle, open the backend of ``job``.

        Jobs on the same backend find it open there. InputError where this host cannot be the job's
        machine, or the process dies of it.
        """
        if not self._workers:
            self.start(1)
        self._workers[0].open(job)

    def assign(self, job: Job) -> None:
        """Give a job to an idle process, of which there must be one; see :attr:`failed`."""
        worker = next(worker for worker in self._workers if worker.job is None)
        try:
            worker.assign(job)
        except OSError as error:
            worker.job = None
            self.failed = self.failed or error

    def collect(
        self, tell: Tell | None = None, seconds: float = 3600.0
    ) -> Iterator[tuple[Job, Record]]:
        """Wait until something happens, so long at most, and yield the jobs that ended.

        ``tell`` hears of the searches of the others. One without a record is not yielded: see
        :attr:`failed`.
        """
        busy = [worker for worker in self._workers if worker.job]
        deadline = min((worker.deadline for worker in busy), default=float("inf"))
        wait([w.pipe for w in busy], timeout=max(0.0, min(deadline - time.monotonic(), seconds)))
        for worker in busy:
            job, outcome = worker.job, worker.outcome(tell)
            if outcome is None or job is None:
                continue
            worker.job = None
            if isinstance(outcome, OSError):
                self.failed = self.failed or outcome
            else:
                yield job, outcome

    def stop(self) -> None:
        """End the processes and whatever they started."""
        while self._workers:
            self._workers.pop().stop()


class _Worker:
    """One child process and what it is doing."""

    def __init__(self, outlets: Outlets, share: Share, lock: HeldOpen | None) -> None:
        self.outlets = outlets
        self.share = share
        self.lock = lock
        self.job: Job | None = None
        self.deadline = float("inf")
        self._before: tuple[int, int] | None = None
        self._start()

    def _start(self) -> None:
        self.pipe, child = _SPAWN.Pipe()
        given = (child, self.outlets, self.share, self.lock)
        self.process = _SPAWN.Process(target=serve, args=given, daemon=False)
        try:
            self.process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            child.close()

    def open(self, job: Job) -> None:
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(Opening(job))
        try:
            error: OSError | InputError | None = self.pipe.recv()
        except (EOFError, ConnectionResetError):
            self.process.join(10)
            ended = how_it_ended(self.process.exitcode)
            raise InputError(f"no backend opens here: the process that tried {ended}") from None
        if error is not None:
            raise error

    def assign(self, job: Job) -> None:
        """Start a job. What its search has spent before, in a run that was stopped, counts."""
        if not self.process.is_alive():
            self.stop()
            self._start()
        self.job = job
        self._before = _identity(job.cell.path(self.outlets.results))
        self.deadline = float("inf")
        if job.limit is not None:
            self.deadline = time.monotonic() + job.limit - self.outlets.spent(job)
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(job)

    def outcome(self, tell: Tell | None) -> Record | OSError | None:
        """The record of the finished job, also where the process died or is out of time.

        Or why it cannot be written.
        """
        assert self.job is not None
        try:
            answer = self._answer(self.job, tell)
            if answer is not None or time.monotonic() < self.deadline:
                return answer
            status, reason = "timeout", f"no answer after {self.job.limit:g} seconds"
        except (EOFError, ConnectionResetError):
            self.process.join(10)
            code = self.process.exitcode
            status, reason = "error", f"the worker process {how_it_ended(code)}"
        self.stop()
        record: Record | OSError | None
        try:
            record = self._written(self.job)
            if record is None:
                record = write_failure(self.job, self.outlets.results, status, reason, self.share)
        except OSError as error:
            record = error
        # Where none can be started, the next job that is assigned tries again, and tells.
        with suppress(OSError):
            self._start()
        return record

    def _answer(self, job: Job, tell: Tell | None) -> Record | OSError | None:
        """What the worker has sent at its end, if it has; what its search tells is for ``tell``."""
        while self.pipe.poll():
            answer: Answer = self.pipe.recv()
            if not isinstance(answer, Progress):
                return answer
            if tell is not None:
                tell(job.cell.name, answer)
        return None

    def _written(self, job: Job) -> Record | None:
        """The record that the worker wrote in its last instant, before it could say so."""
        path = job.cell.path(self.outlets.results)
        if _identity(path) in (None, self._before):
            return None
        return read_record(path)

    def stop(self) -> None:
        """End the process and whatever it started."""
        if self.process.pid is not None:  # None: it could not be started; 0 would be ourselves
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from the one that takes its place; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns
