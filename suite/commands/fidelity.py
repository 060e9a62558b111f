"""placebench fidelity: run placements for real and in the simulator."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from suite.commands._common import (
    RESULTS,
    Subparsers,
    add_cluster,
    backend_of,
    command,
    count,
    duration,
    positive,
)
from suite.core.errors import InputError
from suite.core.paths import check_folder_name

if TYPE_CHECKING:
    from suite.bench.record import Record


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "fidelity",
        "Draw placements of several kinds, run each for real and in the simulator, and record both"
        " step times. A second call runs only what is missing, and refuses to replace records of"
        " other settings unless told to (--replace); `placebench report` writes"
        " fidelity.md, .csv, .json and .png.",
        "  placebench fidelity rnnlm_small inception_v3 --machine here.toml --backend cluster\n"
        "  placebench fidelity rnnlm_small --machine here.toml --rounds 2",
    )
    parser.add_argument(
        "tasks", nargs="+", metavar="TASK", help="task (placebench list), or graph file"
    )
    parser.add_argument("--machine", required=True, help="machine name, or TOML file")
    parser.add_argument(
        "--backend",
        choices=("session", "cluster", "openvino"),
        help="(the one that the machine was profiled with, otherwise session)",
    )
    add_cluster(parser)
    parser.add_argument("--placements", type=count, default=24, help="of each task (24)")
    parser.add_argument(
        "--plain", action="store_true", help="without those of searches, which take minutes to find"
    )
    parser.add_argument("--seed", type=count, default=0, help="of the drawn placements (0)")
    parser.add_argument(
        "--rounds",
        type=positive,
        default=1,
        help="times that all are run; a second tells how far a measurement agrees with itself (1)",
    )
    parser.add_argument("--steps", type=count, default=10, help="timed steps, 5 discarded (10)")
    parser.add_argument(
        "--timeout", type=duration, default=600.0, help="of all steps, seconds (600)"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="results folder")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="delete the tasks' records of this machine that are of other settings (another"
        " profile, backend, --steps, --seed or code); without it they are kept, and nothing runs",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a line a placement and the agreement; 1 when a run ended in an error or a time-out."""
    from suite.bench.load_problem import make_problem
    from suite.bench.lock import locked
    from suite.execution.backends import make_backend
    from suite.execution.measurement import Timing
    from suite.execution.steps import step_of_task
    from suite.fidelity.run import GRID, check_none_goes, compare, outdated, unrecorded
    from suite.fidelity.sample_placements import BEST, draw
    from suite.fidelity.when_needed import WhenNeeded
    from suite.formats.machine_toml import load_machine
    from suite.formats.measured_costs import keep_machine

    machine = load_machine(arguments.machine)
    check_folder_name(machine.name, f"{arguments.machine}: the machine's name")
    asked, expose = backend_of(arguments, machine, otherwise="session"), arguments.expose
    timing = Timing(steps=arguments.steps, timeout=arguments.timeout)
    gpus = len(machine.gpus)
    files = _files(arguments.tasks)
    problems = {t: make_problem(t, arguments.machine, gpus, file) for t, file in files.items()}
    # Before the placements are searched: what cannot be run is to be told at once.
    steps = {task: step_of_task(file or task, asked) for task, file in files.items()}
    drawn = {}
    best = {} if arguments.plain else BEST
    for task, problem in problems.items():
        drawn[task] = draw(problem, arguments.placements, arguments.seed, best)
        print(f"{task}: {len(drawn[task])} placements", flush=True)
    statuses: dict[str, str] = {}
    settings = asked, timing, arguments.output
    start = partial(make_backend, asked, machine, arguments.cluster, expose=expose)
    with locked(arguments.output), WhenNeeded(asked, start) as backend:
        if not arguments.replace:
            check_none_goes(problems, drawn, *settings)
        # Before the machine is kept: where it does not start, records stay beside their own.
        if any(
            unrecorded(t, problems[t], drawn[t], arguments.output)
            or (arguments.replace and outdated(t, problems[t], drawn[t], *settings))
            for t in problems
        ):
            backend.start()
        keep_machine(arguments.machine, arguments.output / GRID / machine.name)
        for number, task in product(range(1, arguments.rounds + 1), problems):
            run_on = drawn[task], backend, timing, arguments.output, number
            for cell, record in compare(task, problems[task], steps[task], *run_on):
                statuses[cell.name] = record["status"]
                print(f"{cell.name:50} {_line(record)}", flush=True)
    counts = Counter(statuses.values())
    print(", ".join(f"{n} {status}" for status, n in sorted(counts.items())))
    return 1 if counts["error"] or counts["timeout"] else 0


def _files(tasks: Sequence[str]) -> dict[str, str | None]:
    """Task -> its graph's file, if it is one; InputError for two of one name."""
    from suite.search.registry import task_sources

    files: dict[str, str | None] = {}
    for name, file in map(_named, tasks):
        if name in files and files[name] != file:
            raise InputError(f"{files[name] or name} and {file or name} have one name; rename one")
        if file is not None and name in task_sources():
            raise InputError(f"{file} is named like a task of placebench; rename it")
        files[name] = file
    return files


def _named(task: str) -> tuple[str, str | None]:
    """A task's name, and the file of its graph where it is one."""
    path = Path(task)
    return (path.stem, task) if path.suffix in (".json", ".npz") else (task, None)


def _line(record: Record) -> str:
    if record["step_time"] is None:
        return f"{record['status']} {record['reason']}"
    simulated = record["simulated"]["step_time"]
    error = 100 * (simulated / record["step_time"] - 1)
    return f"measured {record['step_time']:.4f} s, simulated {simulated:.4f} s ({error:+.1f} %)"
