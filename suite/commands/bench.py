"""placebench bench: run a grid, or the grids of a table."""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from suite.commands._checks import refuse
from suite.commands._common import RESULTS, Subparsers, add_cluster, command, count
from suite.commands._display import add_tensorboard
from suite.commands._prepare import prepared
from suite.commands._ray import add_ray, check_ray
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.bench.cell import Job
    from suite.bench.cell_files import Outlets
    from suite.bench.lock import HeldOpen
    from suite.bench.record import Record
    from suite.commands._display import Display

    Runner: TypeAlias = Callable[[list[Job], Display], Iterator[tuple[Job, Record]]]
    Check: TypeAlias = Callable[[list[Job]], None]


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "bench",
        "Run a grid of cells. Each finished one is a record below the results folder; a second"
        " call runs only what is missing, damaged, recorded under other settings or made by other"
        " code, or ended in an error or a time-out, and takes up learned searches where they were"
        " stopped.",
        "  placebench bench quick\n  placebench bench colocrl_table2\n"
        "  placebench bench my_grid.toml --workers 8 --seed 1\n"
        "  placebench bench quick --only nmt_8/scotch\n"
        "  placebench bench reference --ray 10.0.0.1:6379",
    )
    parser.add_argument(
        "grid",
        nargs="?",
        default="quick",
        help="grid, TOML file, or table whose grids to run (quick)",
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="results folder")
    parser.add_argument(
        "--workers",
        type=count,
        help="processes, with --ray on each node (default: one a core; 0: this one, which no time"
        " limit stops; where cells run for real it is one, since others would be measured, too)",
    )
    parser.add_argument("--seed", type=count, help="base seed, instead of the grid's")
    parser.add_argument("--only", metavar="TEXT", help="only cells whose name contains TEXT")
    parser.add_argument(
        "--checkpoint",
        type=count,
        default=20,
        metavar="SECONDS",
        help="save a search's state this often (20; 0: at every update)",
    )
    parser.add_argument(
        "--backend",
        choices=("simulator", "session", "cluster", "openvino"),
        default="simulator",
        help="run placements in a TensorFlow session, on a cluster of servers, or with OpenVINO"
        " (simulator)",
    )
    add_cluster(parser)
    add_ray(parser, "run the cells")
    parser.add_argument("--machine", help="machine, instead of the grid's")
    parser.add_argument(
        "--gpus", type=count, metavar="N", help="at most N GPUs for each task, for a smaller host"
    )
    parser.add_argument(
        "--keep-code",
        action="store_true",
        help="keep records made by other code, or by other versions of libraries; tables say so",
    )
    add_tensorboard(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is missing; 1 when a cell ended in an error or a time-out."""
    from suite.bench.cell_files import Outlets
    from suite.bench.grid import run_for_real
    from suite.bench.lock import locked
    from suite.core.cores import cores
    from suite.formats.atomic import remove_parts
    from suite.report.table_grids import load_grids

    grid = load_grids(arguments.grid, arguments.seed, arguments.machine, arguments.gpus)
    real = arguments.backend != "simulator"
    if real:
        grid = run_for_real(grid, arguments.backend, arguments.cluster, arguments.expose)
    else:
        refuse(arguments, ("cluster", "expose"), "goes with --backend cluster; add it")
    jobs = [job for job in grid.jobs if (arguments.only or "") in job.cell.name]
    if not jobs:
        raise InputError(f"no cell of {grid.name} has {arguments.only!r} in its name")
    for job in jobs:
        for asked in () if real else job.runs_for_real:
            raise InputError(f"{job.cell.name} has {asked}; add --backend cluster or session")
    check_ray(
        arguments, {f"backend {arguments.backend}": real, "workers 0": arguments.workers == 0}
    )
    workers = cores() if arguments.workers is None else arguments.workers
    if real:  # what else runs here would be measured, too
        workers = 1
    outlets = Outlets(arguments.output, arguments.tensorboard, arguments.checkpoint)
    with locked(arguments.output) as lock, _runner(arguments, outlets, workers, lock) as runs:
        remove_parts(arguments.output, below=True)
        statuses = _run(grid.name, jobs, workers, arguments, outlets, *runs)
    return 1 if statuses["error"] or statuses["timeout"] else 0


@contextmanager
def _runner(
    arguments: argparse.Namespace, outlets: Outlets, workers: int, lock: HeldOpen
) -> Iterator[tuple[Runner, Check]]:
    """What runs jobs: processes of this host, or those of a cluster's nodes.

    And what is asked before they run for real: it raises InputError where this host cannot be the
    machine of the first of them, whose backend is then open in the process that will run it.
    """
    if arguments.ray is not None:
        from suite.bench.ray.execute import execute as execute_on_nodes
        from suite.search.ray.cluster import connected

        with connected(arguments.ray):
            yield (
                lambda jobs, shown: execute_on_nodes(
                    jobs, outlets, arguments.workers, shown.searching, shown.say
                ),
                lambda _: None,
            )
        return
    from suite.bench.executor import Pool, execute
    from suite.core.cores import Share

    pool = None if arguments.backend == "simulator" else Pool(outlets, Share.of(1), lock)

    def check(jobs: list[Job]) -> None:
        if pool is not None and jobs:
            pool.open(jobs[0])

    try:
        yield (
            lambda jobs, shown: execute(jobs, outlets, workers, shown.searching, lock, pool),
            check,
        )
    finally:
        if pool is not None:
            pool.stop()


def _run(
    name: str,
    jobs: list[Job],
    workers: int,
    arguments: argparse.Namespace,
    outlets: Outlets,
    run: Runner,
    check: Check,
) -> Counter[str]:
    """Run the cells that are not finished; count all by status."""
    from suite.commands._display import Display

    # At once where it can be told; what else is to run is known when all graphs are there.
    check([job for job in jobs if not job.cell.path(outlets.results).exists()])
    if outlets.board is not None:
        outlets.board.mkdir(parents=True, exist_ok=True)
    with prepared(jobs, arguments.output, workers, here=arguments.ray is None):
        kept = [_finished(job, outlets, arguments.keep_code) for job in jobs]
    todo = [job for job, (record, _) in zip(jobs, kept, strict=True) if record is None]
    statuses = Counter(record["status"] for record, _ in kept if record is not None)
    _check_can_be_written(todo, outlets)
    _say_plan(name, len(jobs), Counter(why for _, why in kept if why))
    check(todo)
    with Display(len(todo)) as display:
        for job, record in run(todo, display):
            statuses[record["status"]] += 1
            display.finished(job.cell.name, _line(job, record))
    _say_totals(name, statuses, arguments.output)
    return statuses


def _check_can_be_written(jobs: list[Job], outlets: Outlets) -> None:
    """Raise InputError for a record that cannot be written, before anything is computed for it."""
    from suite.formats.atomic import check_can_be_made, file_to_write

    for job in jobs:
        for path in outlets.of_record(job):
            check_can_be_made(file_to_write(path))


def _finished(job: Job, outlets: Outlets, keep_code: bool) -> tuple[Record | None, str]:
    """The record of a finished cell, or None and why it must run."""
    from suite.bench.fingerprint import fingerprint
    from suite.bench.made_by import code_of
    from suite.bench.record import finished, keep
    from suite.bench.worker import completed

    path, code = job.cell.path(outlets.results), code_of(job)["digest"]
    record, why = finished(path, fingerprint(job), None if keep_code else code)
    if record is None:
        return None, why
    return completed(job, keep(record, code, path), outlets), why


_AGAIN = {
    "code": "made by other code",
    "changed": "recorded under other settings",
    "damaged": "not whole",
    "failed": "ended in an error or a time-out",
}


def _say_plan(name: str, cells: int, why: Counter[str]) -> None:
    again = [f"{why[reason]} {words}" for reason, words in _AGAIN.items() if why[reason]]
    reasons = f" ({', '.join(again)})" if again else ""
    done = cells - why.total()
    print(f"{name}: {cells} cells, {done} finished, {why.total()} to run{reasons}", flush=True)


def _line(job: Job, record: Record) -> str:
    name = job.cell.name
    if record["step_time"] is None:
        return f"{name:46} {record['status']:8} {record['reason']}"
    bound = record["lower_bound"]
    text = f"{name:46} {record['status']:8} {record['step_time']:9.4f} s"
    if bound is not None:
        text += f" {record['step_time'] / bound if bound else 1.0:6.2f} x bound"
    return f"{text} {record['wall_seconds']:7.2f} s to place"


def _say_totals(name: str, statuses: Counter[str], results: Path) -> None:
    totals = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    print(f"{name}: {totals or 'nothing to do'}")
    words = ["placebench", "report"]
    if results != RESULTS:
        words += ["--results", str(results), "--output", str(results / "reports")]
    print(f"its tables: {shlex.join(words)}")
