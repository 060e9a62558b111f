"""Runs jobs on a Ray cluster, as :mod:`suite.bench.executor` does on this host.

This process, the driver, hands out cells and writes all that comes back; nodes write nothing that
counts. A node that dies, or whose process fails, costs the cells that it was at: they go to others,
and searches go on from the last checkpoint that the driver has of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from suite.bench.cell import Job
from suite.bench.cell_files import Outlets
from suite.bench.executor import Tell
from suite.bench.fingerprint import fingerprint
from suite.bench.load_problem import keep_graph
from suite.bench.made_by import code_of
from suite.bench.ray.messages import BOARD, RESULTS, Done, Files, Parcel, Report
from suite.bench.ray.node import Node, Settings
from suite.bench.ray.supplies import Shipped, machine_files
from suite.bench.record import Record
from suite.bench.worker import write_failure
from suite.core.cores import Share
from suite.core.errors import InputError
from suite.formats.atomic import atomic
from suite.formats.measured_costs import keep_machine
from suite.search.ray.cluster import Crew, Member, Say

TRIES = 3
"""So many nodes may be lost under a cell until it is the cell that is taken to be at fault."""


def execute(
    jobs: Sequence[Job], outlets: Outlets, workers: int | None, tell: Tell, say: Say
) -> Iterator[tuple[Job, Record]]:
    """Run jobs on the cluster that this process is connected to; yield each with its record.

    Each node has ``workers`` processes (None: one a CPU), which share its CPUs evenly. ``tell``
    hears of searches that are under way, about once a second from each, ``say`` of nodes that come
    and go. Closing the iterator, or an exception in the caller, stops the nodes' processes; so does
    the death of this process. InputError where no node can be used, with all finished records
    written; OSError when one cannot be written.
    """
    if jobs:
        yield from _Driver(jobs, outlets, workers, tell, say).run()


@dataclass
class _Node:
    """What the driver knows of a node."""

    slots: int
    running: dict[str, Job] = field(default_factory=dict)
    """By the names of their cells."""


class _Driver:
    """Hands out cells and takes in what comes back."""

    def __init__(
        self, jobs: Sequence[Job], outlets: Outlets, workers: int | None, tell: Tell, say: Say
    ) -> None:
        self.waiting = deque(jobs)
        self.outlets, self.tell = outlets, tell
        kinds = {(job.placer, job.cell.machine, job.semantics): job for job in jobs}
        shipped = Shipped()
        samples = [shipped.of(job)[0] for job in kinds.values()]
        machines = machine_files(job.cell.machine for job in jobs)
        board = outlets.board is not None
        self.settings = Settings(machines, samples, len(jobs), workers, outlets.interval, board)
        self.shipped = shipped
        self.crew = Crew(Node, (self.settings,), say)
        self.nodes: dict[Member, _Node] = {}
        self.reports: dict[Any, Member] = {}
        self.losses: Counter[str] = Counter()

    def run(self) -> Iterator[tuple[Job, Record]]:
        try:
            while self.waiting or any(node.running for node in self.nodes.values()):
                if self.waiting:
                    self.crew.join()
                for member in self.crew.members:
                    self._hand_out(member)
                ready, _ = ray.wait(list(self.reports), num_returns=1, timeout=1.0)
                for reference in ready:
                    yield from self._take_in(reference)
        finally:
            self.crew.close()

    def _hand_out(self, member: Member) -> None:
        """Give a node what it has room for, unless it has not reported on the last."""
        if member in self.reports.values():
            return
        node = self.nodes.setdefault(member, _Node(self.settings.slots(member.cpus)))
        parcels = []
        while self.waiting and len(node.running) < node.slots:
            job = self.waiting.popleft()
            node.running[job.cell.name] = job
            parcels.append(self._parcel(job))
        if node.running:
            self.reports[member.actor.step.remote(parcels)] = member

    def _parcel(self, job: Job) -> Parcel:
        local, supplies = self.shipped.of(job)
        begun = self.outlets.spent(job) > 0
        paths = self.outlets.of_search(job) if begun else []
        there = [path for path in paths if path.exists()]
        files = {self._name(path): path.read_bytes() for path in there}
        return Parcel(local, supplies, files)

    def _take_in(self, reference: Any) -> Iterator[tuple[Job, Record]]:
        member = self.reports.pop(reference)
        node = self.nodes[member]
        try:
            report: Report = ray.get(reference)
        except RayError as error:
            yield from self._lost(member, error)
            return
        for name, progress in report.progress.items():
            self.tell(name, progress)
        self._write(report.saved)
        for done in report.done:
            job = node.running.pop(done.name)
            self._check(member, job, done.record)
            self._keep(job, done)
            yield job, done.record

    def _lost(self, member: Member, error: RayError) -> Iterator[tuple[Job, Record]]:
        """Have the cells of a node that is gone run by others, first of all."""
        running = self.nodes.pop(member).running
        cells = "its cell runs" if len(running) == 1 else f"its {len(running)} cells run"
        self.crew.lose(member, error, f"{cells} again elsewhere")
        for job in reversed(running.values()):
            self.losses[job.cell.name] += 1
            if self.losses[job.cell.name] < TRIES:
                self.waiting.appendleft(job)
                continue
            reason = f"{TRIES} nodes in turn were lost while they ran it"
            share = Share(self.settings.slots(member.cpus), 1)
            yield job, write_failure(job, self.outlets.results, "error", reason, share)

    def _check(self, member: Member, job: Job, record: Record) -> None:
        """InputError where a node has made a record by other settings or code than this host's.

        A record without them is of a graph or a machine that the node could not read.
        """
        if "fingerprint" not in record:
            return
        here, there = code_of(job), record.get("code", {})
        if record.get("fingerprint") == fingerprint(job) and there.get("digest") == here["digest"]:
            return
        libraries = here["libraries"].items() ^ there.get("libraries", {}).items()
        names = ", ".join(sorted({name for name, _ in libraries})) or "the graph or the code"
        raise InputError(
            f"node {member.name} runs {job.cell.name} otherwise than this host would: {names}"
            " differ; install the same on all nodes"
        )

    def _keep(self, job: Job, done: Done) -> None:
        """Write the files of a cell that ended, its record last, and remove what is outdated."""
        keep_graph(job, self.outlets.results)
        machine = job.cell.machine
        keep_machine(machine, self.outlets.results / job.cell.grid / machine)
        for path in (*self.outlets.checkpoints(job), *self.outlets.of_record(job)):
            if self._name(path) not in done.files:
                path.unlink(missing_ok=True)
        self._write(done.files)

    def _name(self, path: Path) -> str:
        """A file of the results folder in the words of messages."""
        return f"{RESULTS}/{path.relative_to(self.outlets.results)}"

    def _write(self, files: Files) -> None:
        folders = {RESULTS: self.outlets.results, BOARD: self.outlets.board}
        for name, content in files.items():
            folder, _, rest = name.partition("/")
            target = folders[folder]
            assert target is not None
            with atomic(target / rest) as temporary:
                temporary.write_bytes(content)
