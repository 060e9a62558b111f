"""A worker process: jobs in, whole records out, until its parent is gone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, TypeAlias

from suite.bench.cell import Job
from suite.bench.cell_files import Outlets
from suite.bench.lock import HeldOpen
from suite.bench.record import AGAIN, FORMAT, Record, write_record
from suite.core.cores import Share, take_share
from suite.core.errors import InputError
from suite.core.one_line import warn_on_one_line
from suite.core.quiet_tensorflow import allow_traces
from suite.search.progress_log import Listener, Progress

Answer: TypeAlias = Record | OSError | Progress
"""What a worker sends: a finished record, why it cannot write one, or where its search is."""


class Opening(NamedTuple):
    """What a worker is sent before its first job: to start the backend on which that is to run.

    It answers None, or what is wrong: an InputError where this host cannot be the job's machine.
    """

    job: Job


def serve(
    pipe: Connection[Answer | InputError | None, Job | Opening],
    outlets: Outlets,
    share: Share,
    lock: HeldOpen | None,
) -> None:
    """A worker's life. Its copy of ``lock`` keeps the results folder locked until it is gone."""
    live_with_parent()
    if lock is not None:
        os.set_inheritable(lock.number, False)
    take_share(share)
    warn_on_one_line()
    allow_traces()
    while True:
        try:
            asked = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        answer: Answer | InputError | None
        try:
            if isinstance(asked, Opening):
                answer = _opened(asked.job)
            else:
                answer = run_and_write(asked, outlets, share, _Reporter(pipe))
        except OSError as error:
            answer = error
        with suppress(BrokenPipeError, ConnectionResetError):  # the run was interrupted meanwhile
            pipe.send(answer)


def _opened(job: Job) -> InputError | None:
    """Start the backend of a job, which stays open; what is wrong with this host, if anything."""
    from suite.bench.measured import backend_of

    try:
        backend_of(job)
    except InputError as error:
        return error
    return None


def run_and_write(job: Job, outlets: Outlets, share: Share, listener: Listener | None) -> Record:
    """Run a job and write its record; only OSError is raised, where a file cannot be written."""
    from suite.bench.load_problem import keep_graph
    from suite.bench.run_cell import run
    from suite.formats.measured_costs import keep_machine

    try:
        saved = outlets.checkpoint(job)
        record, devices = run(job, outlets.journal(job, listener), saved)
        keep_graph(job, outlets.results)
        keep_machine(job.cell.machine, outlets.results / job.cell.grid / job.cell.machine)
    except InputError as error:  # a graph or machine file that is gone since the run began
        return write_failure(job, outlets.results, "error", str(error), share)
    write_record(record, devices, job.cell.path(outlets.results))
    return completed(job, record, outlets)


def completed(job: Job, record: Record, outlets: Outlets) -> Record:
    """Do what is left when a record is written: the bound, then away with the checkpoint.

    Of a cell that the next run tries again the checkpoint stays.
    The placement is safe by then, should this take long or be killed; the next run does it.
    """
    from suite.bench.run_cell import bounded
    from suite.formats.json_file import write_json

    if (whole := bounded(job, record)) != record:
        write_json(record := whole, job.cell.path(outlets.results))
    if record["status"] not in AGAIN:
        for path in outlets.checkpoints(job):
            path.unlink(missing_ok=True)
    return record


def write_failure(job: Job, results: Path, status: str, reason: str, share: Share) -> Record:
    """Write and return the record of a cell that has no result."""
    record = _header(job) | {
        "workers": share.workers,
        "threads": share.threads,
        "status": status,
        "reason": reason,
    }
    write_record(record, None, job.cell.path(results))
    return record


def _header(job: Job) -> Record:
    from suite.bench.run_cell import header

    try:
        return header(job)
    except InputError:  # its graph or machine cannot be read, so that it has no fingerprint
        return {"format": FORMAT, "cell": job.cell.as_dict(), "step_time": None, "step_times": []}


class _Reporter:
    """Sends where a search is, at most once a second."""

    def __init__(self, pipe: Connection[Answer | InputError | None, Job | Opening]) -> None:
        self.pipe = pipe
        self.sent = 0.0

    def __call__(self, progress: Progress) -> None:
        if time.monotonic() - self.sent >= 1:
            self.sent = time.monotonic()
            with suppress(BrokenPipeError):  # the parent is gone, and so is this process soon
                self.pipe.send(progress)


def live_with_parent() -> None:
    """Put this child process into a group of its own, which ends when the parent is gone."""
    os.setsid()
    # A parent that a script started in the background has SIGINT ignored, and hands that on to all
    # its children; what is started here gets the default back.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    """End this process group, native children included, when the parent was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.killpg(0, signal.SIGKILL)
