"""What the simulator's terms for CPUs bring in fidelity: placements simulated with and without.

    python benchmarks/fidelity_terms.py results/fidelity/MACHINE

Takes measured step times and placements from the records of ``placebench fidelity``, and simulates
them on the machine kept beside them, with either order of dispatch, with occupancy and without.
Prints a Markdown table: rank correlation and median error, per task and over all.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from suite.bench.load_problem import make_problem
from suite.bench.record import read_devices, read_record
from suite.core.arrays import Floats, Ints
from suite.core.machine import Machine
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.statistics import spearman
from suite.simulator.compiled.judge import Simulator


def dispatched(machine: Machine, dispatch: str) -> Machine:
    """First come, first served (``fifo``), or the last first (``stack``)."""
    return replace(machine, dispatch=dispatch)


def free(machine: Machine) -> Machine:
    """Transfers keep nobody from computing."""
    none = {"send_overhead": 0.0, "receive_overhead": 0.0, "copy_bandwidth": math.inf}
    return replace(machine, links=tuple(replace(link, **none) for link in machine.links))


TERMS: dict[str, Callable[[Machine], Machine]] = {
    "first come, first served": lambda machine: dispatched(machine, "fifo"),
    "last come, first served": lambda machine: dispatched(machine, "stack"),
    "first come, and transfers occupy nobody": lambda machine: dispatched(free(machine), "fifo"),
    "last come, and transfers occupy nobody": lambda machine: dispatched(free(machine), "stack"),
}


def placements(task: Path, problem: Problem) -> tuple[Floats, list[Ints]]:
    """Measured step times, and operations' devices, of a task's records."""
    measured, devices = [], []
    for path in sorted(task.glob("*/*.json")):
        record = read_record(path)
        if record["status"] == "ok":
            measured.append(record["step_time"])
            devices.append(Placement.of(problem, read_devices(path)).devices)
    return np.array(measured), devices


def row(name: str, measured: Floats, simulated: dict[str, Floats]) -> str:
    """A Markdown row."""
    cells = [
        f"{spearman(times, measured):.3f}, {100 * np.median(abs(times / measured - 1)):.1f} %"
        for times in simulated.values()
    ]
    return f"| {name} | {len(measured)} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results/fidelity/MACHINE")
    folder = parser.parse_args().folder
    everything: list[Floats] = []
    judged: dict[str, list[Floats]] = {term: [] for term in TERMS}
    print(f"| task | placements | {' | '.join(TERMS)} |\n|---|---|{'---|' * len(TERMS)}")
    for task in sorted(folder.glob("*gpu/*")):
        gpus = int(task.parent.name.removesuffix("gpu"))
        problem = make_problem(task.name, str(folder / "machine.toml"), gpus)
        measured, devices = placements(task, problem)
        simulated = {}
        for term, change in TERMS.items():
            simulator = Simulator(replace(problem, machine=change(problem.machine)))
            simulated[term] = np.array([simulator.run(one).step_time for one in devices])
            judged[term].append(simulated[term])
        everything.append(measured)
        print(row(task.name, measured, simulated))
    together = {term: np.concatenate(times) for term, times in judged.items()}
    print(row("all", np.concatenate(everything), together))


if __name__ == "__main__":
    main()
