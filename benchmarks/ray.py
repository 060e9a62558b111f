"""What a second Ray node brings: cells of a grid, and one large search; and what the driver costs.

    python -P benchmarks/ray.py [CPUS] [GRID] [TEXT] [ROUNDS]

Nodes of CPUS CPUs each (half of this host's) are started on this host, one or two of them in turn,
as many rounds as asked for (3). GRID (quick) is run as far as the names of its cells contain TEXT.
Prints benchmarks/ray.md.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from ray.cluster_utils import Cluster

from baselines.random import draw
from suite.bench.cell import Job
from suite.bench.cell_files import Outlets
from suite.bench.grid import load_grid
from suite.bench.load_problem import make_problem
from suite.bench.ray.execute import execute
from suite.bench.record import deterministic_part
from suite.core.cores import cores
from suite.core.problem import Problem
from suite.search.ray.cluster import connected
from suite.search.ray.judge import RayJudge
from suite.simulator.judges import make_simulator
from suite.simulator.semantics import PLACEBENCH

TASK, MACHINE, GPUS = "nmt_8", "k40", 8
BATCH = 64
"""Placements that the search asks for at a time."""
BATCHES = 3
SMALL = 300
"""Cells that take no time, by which the driver is measured."""


@contextmanager
def nodes(count: int, cpus: int) -> Iterator[str]:
    """The address of a cluster of so many nodes; its head, where this program is, has no CPUs."""
    head = {"num_cpus": 0, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(count):
            cluster.add_node(num_cpus=cpus)
        with connected(cluster.address):
            yield cluster.address
    finally:
        cluster.shutdown()


def run_cells(jobs: Sequence[Job]) -> tuple[float, float, dict[str, object]]:
    """Run jobs: seconds from when the last node has joined, the driver's CPU seconds, records."""
    joined = [0.0, 0.0]

    def say(line: str) -> None:
        joined[:] = time.monotonic(), time.process_time()

    with tempfile.TemporaryDirectory() as folder:
        ran = execute(jobs, Outlets(Path(folder)), None, lambda name, progress: None, say)
        found = {job.cell.name: deterministic_part(record) for job, record in ran}
    return time.monotonic() - joined[0], time.process_time() - joined[1], found


def search(problem: Problem) -> tuple[float, list[float]]:
    """Judge batches on the nodes: placements a second, and all step times."""
    judge = RayJudge(make_simulator(problem, PLACEBENCH), PLACEBENCH.name, lambda line: None)
    rng = np.random.default_rng(0)
    batches = [draw(problem, rng, BATCH) for _ in range(BATCHES + 1)]
    judge(batches[0])  # here: how long a placement takes is not known yet
    start = time.monotonic()
    times = [judge(batch).step_time for batch in batches[1:]]
    seconds = time.monotonic() - start
    assert judge.sent == BATCH * BATCHES
    judge.close()
    return BATCH * BATCHES / seconds, np.concatenate(times).tolist()


def main(cpus: int, grid: str, text: str, rounds: int) -> None:
    """Measure and print."""
    jobs = [job for job in load_grid(grid).jobs if text in job.cell.name]
    problem = make_problem(TASK, MACHINE, GPUS)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    speeds: dict[int, list[float]] = {1: [], 2: []}
    records, times = [], []
    with nodes(1, cpus):  # whatever is compiled, is now
        run_cells(jobs)
        search(problem)
    for _ in range(rounds):
        for count in (1, 2):
            with nodes(count, cpus):
                took, _, found = run_cells(jobs)
                speed, scored = search(problem)
            seconds[count].append(took)
            speeds[count].append(speed)
            records.append(found)
            times.append(scored)
    same = all(one == records[0] for one in records) and all(one == times[0] for one in times)
    small = [job for job in load_grid("smoke").jobs if job.placer == "gpu_only"] * SMALL
    small = [_numbered(job, number) for number, job in enumerate(small)]
    with nodes(1, cpus):
        took, driver, _ = run_cells(small)
    _print(len(jobs), grid, text, cpus, seconds, speeds, same)
    print(f"| driver, CPU time a cell | {1000 * driver / SMALL:.1f} ms | | |")
    print(f"| cells that take no time, on one node | {SMALL / took:.0f} a second | | |")
    load = os.getloadavg()[0]
    print(f"\n{rounds} rounds, medians; {cores()} cores; load of the host at the end {load:.1f}.")


def _numbered(job: Job, number: int) -> Job:
    return replace(job, cell=replace(job.cell, seed=number))


def _print(
    cells: int,
    grid: str,
    text: str,
    cpus: int,
    seconds: dict[int, list[float]],
    speeds: dict[int, list[float]],
    same: bool,
) -> None:
    print("# A second Ray node\n")
    words = " ".join(filter(None, [str(cpus), grid, text]))
    print(f"`python -P benchmarks/ray.py {words}`: nodes of {cpus} CPUs each, all on one host.\n")
    print("| | one node | two nodes | ratio |\n|---|---|---|---|")
    one, two = median(seconds[1]), median(seconds[2])
    print(f"| {cells} cells | {one:.1f} s | {two:.1f} s | {one / two:.2f} |")
    one, two = median(speeds[1]), median(speeds[2])
    print(f"| {TASK}, batches of {BATCH} | {one:.1f} /s | {two:.1f} /s | {two / one:.2f} |")
    print(f"| the same records and scores, bit for bit | | {'yes' if same else 'NO'} | |")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else max(1, cores() // 2),
        given[1] if len(given) > 1 else "quick",
        given[2] if len(given) > 2 else "",
        int(given[3]) if len(given) > 3 else 3,
    )
