"""placebench fidelity: run placements for real and in the simulator."""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import command, count
from suite.errors import InputError

if TYPE_CHECKING:
    from suite.execution.measurement import Backend
    from suite.machine import Machine
    from suite.problem import Problem
    from suite.record import Record


def add(parsers: Any) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "fidelity",
        "Draw placements of several kinds, run each for real and in the simulator, and record both"
        " step times. A second call runs only what is missing; `placebench report` writes"
        " fidelity.md, .csv, .json and .png.",
        "  placebench profile --backend cluster --devices 2 --output here.toml\n"
        "  placebench fidelity rnnlm_small inception_v3 --machine here.toml --backend cluster",
    )
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="task (placebench list)")
    parser.add_argument("--machine", required=True, help="TOML file that describes these devices")
    parser.add_argument("--backend", choices=("session", "cluster"), default="session")
    parser.add_argument("--cluster", type=Path, metavar="FILE", help="cluster file (this host)")
    parser.add_argument("--placements", type=count, default=24, help="of each task (24)")
    parser.add_argument("--seed", type=count, default=0, help="of the drawn placements (0)")
    parser.add_argument("--steps", type=count, default=10, help="timed steps, 5 discarded (10)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of all steps (600)")
    parser.add_argument("--output", type=Path, default=Path("results"), help="results folder")


def run(arguments: argparse.Namespace) -> int:
    """Print a line a placement and the agreement; 1 when a run ended in an error or a time-out."""
    from suite.execution.measurement import Step, Timing
    from suite.fidelity.draw import draw
    from suite.fidelity.run import GRID, compare
    from suite.machine import Machine

    if arguments.cluster is not None and arguments.backend != "cluster":
        raise InputError("--cluster is for --backend cluster; leave it out, or name that backend")
    machine = Machine.load(arguments.machine)
    timing = Timing(steps=arguments.steps, timeout=arguments.timeout)
    problems = {task: _problem(task, machine) for task in arguments.tasks}
    drawn = {}
    for task, problem in problems.items():
        drawn[task] = draw(problem, arguments.placements, arguments.seed)
        print(f"{task}: {len(drawn[task])} placements", flush=True)
    folder = arguments.output / GRID / machine.name
    folder.mkdir(parents=True, exist_ok=True)
    if Path(arguments.machine).is_file():
        shutil.copyfile(arguments.machine, folder / "machine.toml")
    statuses: Counter[str] = Counter()
    with _backend(arguments, machine) as backend:
        for task, problem in problems.items():
            step = Step.of_task(task)
            found = compare(task, problem, step, drawn[task], backend, timing, arguments.output)
            for cell, record in found:
                statuses[record["status"]] += 1
                print(f"{cell.name:50} {_line(record)}", flush=True)
    print(", ".join(f"{n} {status}" for status, n in sorted(statuses.items())))
    return 1 if statuses["error"] or statuses["timeout"] else 0


def _line(record: Record) -> str:
    if record["step_time"] is None:
        return f"{record['status']} {record['reason']}"
    simulated = record["simulated"]["step_time"]
    error = 100 * (simulated / record["step_time"] - 1)
    return f"measured {record['step_time']:.4f} s, simulated {simulated:.4f} s ({error:+.1f} %)"


def _problem(task: str, machine: Machine) -> Problem:
    """The problem of a task, with the expert's placement also where CPUs play the GPUs."""
    from dataclasses import replace

    from suite.cache import load_graph
    from suite.fidelity.twin import twin
    from suite.problem import Problem
    from suite.run import expert

    problem = Problem.create(load_graph(task), machine)
    seen = twin(problem)
    return replace(problem, expert=expert(seen.graph, seen.machine, task))


def _backend(arguments: argparse.Namespace, machine: Machine) -> Backend:
    if arguments.backend == "cluster":
        from suite.execution.cluster import ClusterBackend

        return ClusterBackend(machine, arguments.cluster)
    from suite.execution.session import SessionBackend

    return SessionBackend(machine)
