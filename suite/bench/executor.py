"""Runs jobs in worker processes: a crash, a hang or a kill costs one cell.

A worker writes its record itself, whole, before it reports; the parent writes the record of a
worker that died or took too long, and starts a fresh one. Jobs are handed out in the grid's order,
task by task, so that a worker finds graph, simulator and bound ready from the job before.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from suite.bench.cell import Job
from suite.bench.cell_files import Outlets
from suite.bench.record import Record, write_record
from suite.search.progress_log import Listener, Progress

_SPAWN = multiprocessing.get_context("spawn")

Tell = Callable[[str, Progress], None]
"""Hears the name of a cell and where its search is."""


def execute(
    jobs: Sequence[Job], outlets: Outlets, workers: int, tell: Tell | None = None
) -> Iterator[tuple[Job, Record]]:
    """Run jobs on ``workers`` processes and yield each with its record when done.

    ``tell`` hears of searches that are under way, about once a second from each. With 0 workers
    they run in this process, where a crash is fatal and time limits do not hold. Closing the
    iterator, or an exception in the caller, stops the workers; so does the death of this process.
    Raises OSError when a record cannot be written.
    """
    if workers == 0:
        for job in jobs:
            yield job, _run_and_write(job, outlets, partial(tell, job.cell.name) if tell else None)
        return
    pool = [_Worker(outlets, tell) for _ in range(min(workers, len(jobs)))]
    waiting = deque(jobs)
    try:
        while waiting or any(worker.job for worker in pool):
            for worker in pool:
                if worker.job is None and waiting:
                    worker.assign(waiting.popleft())
            yield from _collect(pool)
    finally:
        for worker in pool:
            worker.stop()


def _collect(pool: Sequence[_Worker]) -> Iterator[tuple[Job, Record]]:
    """Wait until something happens, and yield the jobs that ended."""
    busy = [worker for worker in pool if worker.job]
    deadline = min(worker.deadline for worker in busy)
    wait([w.pipe for w in busy], timeout=max(0.0, min(deadline - time.monotonic(), 3600.0)))
    for worker in busy:
        job, record = worker.job, worker.outcome()
        if record is not None and job is not None:
            worker.job = None
            yield job, record


class _Worker:
    """One child process and what it is doing."""

    def __init__(self, outlets: Outlets, tell: Tell | None) -> None:
        self.outlets = outlets
        self.tell = tell
        self.job: Job | None = None
        self.deadline = float("inf")
        self._start()

    def _start(self) -> None:
        self.pipe, child = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(child, self.outlets), daemon=False)
        self.process.start()
        child.close()

    def assign(self, job: Job) -> None:
        if not self.process.is_alive():
            self.stop()
            self._start()
        self.job = job
        limit = float("inf") if job.limit is None else job.limit
        self.deadline = time.monotonic() + limit
        with suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(job)

    def outcome(self) -> Record | None:
        """The record of the finished job, also where the process died or is out of time."""
        assert self.job is not None
        try:
            while self.pipe.poll():
                answer = self.pipe.recv()
                if not isinstance(answer, Progress):
                    return _received(answer)
                if self.tell is not None:
                    self.tell(self.job.cell.name, answer)
            if time.monotonic() < self.deadline:
                return None
            status, reason = "timeout", f"no answer after {self.job.limit:g} seconds"
        except (EOFError, ConnectionResetError):
            self.process.join(10)
            status, reason = "error", f"the worker process {_death(self.process.exitcode)}"
        self.stop()
        record = _failed(self.job, status, reason)
        write_record(record, None, self.job.cell.path(self.outlets.results))
        self._start()
        return record

    def stop(self) -> None:
        """End the process and whatever it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _received(answer: Record | OSError) -> Record:
    if isinstance(answer, OSError):
        raise answer
    return answer


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"died of {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def _failed(job: Job, status: str, reason: str) -> Record:
    from suite.bench.run_cell import header

    return header(job) | {"status": status, "reason": reason}


def _run_and_write(job: Job, outlets: Outlets, listener: Listener | None) -> Record:
    from suite.bench.load_problem import keep_graph
    from suite.bench.run_cell import bounded, run
    from suite.formats.json_file import write_json
    from suite.formats.measured_costs import keep_machine

    saved = outlets.checkpoint(job)
    record, devices = run(job, outlets.journal(job, listener), saved)
    keep_graph(job, outlets.results)
    keep_machine(job.cell.machine, outlets.results / job.cell.grid / job.cell.machine)
    path = job.cell.path(outlets.results)
    write_record(record, devices, path)
    if (whole := bounded(job, record)) != record:  # the placement is safe, should this take long
        write_json(record := whole, path)
    if record["status"] != "error":
        saved.remove()
    return record


def _serve(pipe: Connection[Any, Any], outlets: Outlets) -> None:
    """A worker's life: jobs in, records out, until the parent is gone."""
    os.setsid()
    threading.Thread(target=_die_with_parent, daemon=True).start()
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        answer: Record | OSError
        try:
            answer = _run_and_write(job, outlets, _Reporter(pipe))
        except OSError as error:
            answer = error
        pipe.send(answer)


class _Reporter:
    """Sends what a search tells, at most once a second."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self.pipe = pipe
        self.sent = 0.0

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self.sent >= 1:
            self.sent = time.monotonic()
            with suppress(BrokenPipeError):  # the parent is gone, and so is this process soon
                self.pipe.send(progress)


def _die_with_parent() -> None:
    """End this process group, native children included, when the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(0, signal.SIGKILL)
