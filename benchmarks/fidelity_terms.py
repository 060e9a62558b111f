"""What the simulator's terms bring in fidelity: placements simulated with and without.

    python benchmarks/fidelity_terms.py results/fidelity/two_cores
    python benchmarks/fidelity_terms.py results/fidelity/one_h200 --parallelism 16 --gap 3e-6

Takes measured step times and placements from the records of ``placebench fidelity``, and simulates
them on the machine kept beside them: as it is, and without each of its terms. Prints a Markdown
table: rank correlation, median and mean error, per task and over all. ``--parallelism`` and
``--gap`` give a machine that was profiled before either was measured what a profile of today would:
the times of a CPU's operations are scaled so that all of them, so many at a time, still take the
whole step.
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
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.statistics import spearman
from suite.execution.profiling.op_times import step_seconds
from suite.simulator.compiled.judge import Simulator


def linked(problem: Problem, **figures: float | None) -> Problem:
    """Other figures of all links."""
    machine = problem.machine
    links = tuple(replace(link, **figures) for link in machine.links)
    return replace(problem, machine=replace(machine, links=links))


def at_once(problem: Problem, parallelism: int) -> Problem:
    """CPUs that run so many operations at once, of which all together take as long as before."""
    machine, seconds = problem.machine, np.array(problem.seconds)
    devices = list(machine.devices)
    for cpu in machine.cpus:
        before = step_seconds(problem.graph, seconds[:, cpu], devices[cpu].parallelism)
        seconds[:, cpu] *= before / step_seconds(problem.graph, seconds[:, cpu], parallelism)
        devices[cpu] = replace(devices[cpu], parallelism=parallelism)
    return replace(problem, machine=replace(machine, devices=tuple(devices)), seconds=seconds)


def one_at_a_time(problem: Problem) -> Problem:
    """Neither several operations nor several transfers at once."""
    return linked(at_once(problem, 1), gap=None)


def stacked(problem: Problem) -> Problem:
    """The last operation that became ready first, as on a single thread."""
    return replace(problem, machine=replace(problem.machine, dispatch="stack"))


FREE = {"send_overhead": 0.0, "receive_overhead": 0.0, "copy_bandwidth": math.inf}
TERMS: dict[str, Callable[[Problem], Problem]] = {
    "as it is": lambda problem: problem,
    "one operation at a time": lambda problem: at_once(problem, 1),
    "one transfer at a time": lambda problem: linked(problem, gap=None),
    "one of either": one_at_a_time,
    "transfers occupy nobody": lambda problem: linked(problem, **FREE),
    "last come, first served": stacked,
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
    cells = []
    for times in simulated.values():
        off = 100 * abs(times / measured - 1)
        cells.append(f"{spearman(times, measured):.3f}, {np.median(off):.1f}, {off.mean():.1f} %")
    return f"| {name} | {len(measured)} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results/fidelity/MACHINE")
    parser.add_argument("--parallelism", type=int, help="of CPUs, in place of the machine's")
    parser.add_argument("--gap", type=float, help="of links, seconds, in place of the machine's")
    arguments = parser.parse_args()
    folder = arguments.folder
    everything: list[Floats] = []
    judged: dict[str, list[Floats]] = {term: [] for term in TERMS}
    print(f"| task | placements | {' | '.join(TERMS)} |\n|---|---|{'---|' * len(TERMS)}")
    for task in sorted(folder.glob("*gpu/*")):
        gpus = int(task.parent.name.removesuffix("gpu"))
        problem = make_problem(task.name, str(folder / "machine.toml"), gpus)
        measured, devices = placements(task, problem)
        if arguments.parallelism:
            problem = at_once(problem, arguments.parallelism)
        if arguments.gap is not None:
            problem = linked(problem, gap=arguments.gap)
        simulated = {}
        for term, change in TERMS.items():
            simulator = Simulator(change(problem))
            simulated[term] = np.array([simulator.run(one).step_time for one in devices])
            judged[term].append(simulated[term])
        everything.append(measured)
        print(row(task.name, measured, simulated))
    together = {term: np.concatenate(times) for term, times in judged.items()}
    print(row("all", np.concatenate(everything), together))


if __name__ == "__main__":
    main()
