"""What the simulator's terms bring in fidelity: placements simulated with and without.

    python benchmarks/fidelity_terms.py results/fidelity/two_cores
    python benchmarks/fidelity_terms.py results/fidelity/one_h200 --fit

Takes measured step times and placements from the records of ``placebench fidelity``, and simulates
them on the machine kept beside them: as it is, and without each of its terms. Prints a Markdown
table: rank correlation, median and mean error, per task, over all, and of what searches found.
Where one process ran the steps, control edges and tensors in host memory are handed on without a
copy in one column, and copied in another. ``--fit`` is for a machine that was profiled before steps
in pieces were: what transfers take longer in them (``suite.execution.profiling.pieces``) is fitted
to what no search found, and added to its links. ``--alone`` is for one profiled since: what pieces
told is taken away again: SECONDS of latency, which the machine's file says (0 where there are
none), and scheduling latency. Two more columns have either, as fits best what no search found.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from suite.bench.load_problem import make_problem
from suite.bench.record import read_record
from suite.core.arrays import Bools, Floats
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.statistics import spearman
from suite.execution.profiling.op_times import step_seconds
from suite.execution.profiling.pieces import Pieces, Way, fit_seconds, slowed, waiting
from suite.formats.recorded_placement import read_devices
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


def longer(problem: Problem, added: float) -> Problem:
    """Transfers that take ``added`` seconds more."""
    return replace(problem, machine=slowed(problem.machine, added))


def handed_on_and_longer(problem: Problem, added: float) -> Problem:
    """What is in host memory is handed on, and other transfers take ``added`` seconds more."""
    return longer(in_one_process(problem, True), added)


def stacked(problem: Problem) -> Problem:
    """The last operation that became ready first, as on a single thread."""
    return replace(problem, machine=replace(problem.machine, dispatch="stack"))


def in_one_process(problem: Problem, whether: bool) -> Problem:
    """Whether what is in host memory is handed on without a copy."""
    return replace(problem, machine=replace(problem.machine, one_process=whether))


FREE = {"send_overhead": 0.0, "receive_overhead": 0.0, "copy_bandwidth": math.inf}
TERMS: dict[str, Callable[[Problem], Problem]] = {
    "as it is": lambda problem: problem,
    "one operation at a time": lambda problem: at_once(problem, 1),
    "one transfer at a time": lambda problem: linked(problem, gap=None),
    "one of either": one_at_a_time,
    "transfers occupy nobody": lambda problem: linked(problem, **FREE),
    "last come, first served": stacked,
}
OF_ONE_PROCESS: dict[str, Callable[[Problem], Problem]] = {
    "all tensors copied": partial(in_one_process, whether=False),
    "host memory handed on": partial(in_one_process, whether=True),
}
"""Further ones where one process ran the steps."""


def pieces_of(folder: Path) -> dict[str, tuple[Pieces, Bools]]:
    """Placements and measured step times of each task's records; which of them searches found."""
    found = {}
    for task in sorted(folder.glob("*gpu/*")):
        gpus = int(task.parent.name.removesuffix("gpu"))
        problem = make_problem(task.name, str(folder / "machine.toml"), gpus)
        devices, seconds, searched = [], [], []
        for path in sorted(task.glob("*/*.json")):
            record = read_record(path)
            if record["status"] == "ok":
                devices.append(Placement.of(problem, read_devices(path)).devices)
                seconds.append(record["step_time"])
                searched.append(record["cell"]["placer"] == "best")
        pieces = Pieces(problem, np.array(devices), np.array(seconds))
        found[task.name] = pieces, np.array(searched)
    return found


def by_themselves(problem: Problem, told: float) -> Problem:
    """Transfers that take as long as by themselves: without what pieces told, of either kind."""
    return replace(problem, machine=waiting(slowed(problem.machine, -told), 0.0))


def fitted(problem: Problem, told: float, way: Way, seconds: float) -> Problem:
    """Transfers that take so much longer than by themselves, in this way."""
    problem = by_themselves(problem, told)
    return replace(problem, machine=way(problem.machine, seconds))


def unfound(
    tasks: dict[str, tuple[Pieces, Bools]], change: Callable[[Problem], Problem]
) -> list[Pieces]:
    """What no search found, of a problem that is changed."""
    return [
        Pieces(change(pieces.problem), pieces.devices[~found], pieces.seconds[~found])
        for pieces, found in tasks.values()
    ]


def row(name: str, measured: Floats, simulated: list[Floats]) -> str:
    """A Markdown row."""
    cells = []
    for times in simulated:
        off = 100 * abs(times / measured - 1)
        cells.append(f"{spearman(times, measured):.3f}, {np.median(off):.1f}, {off.mean():.1f} %")
    return f"| {name} | {len(measured)} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="results/fidelity/MACHINE")
    parser.add_argument("--fit", action="store_true", help="what transfers take longer in steps")
    parser.add_argument(
        "--alone", type=float, metavar="SECONDS", help="without the latency that pieces told"
    )
    arguments = parser.parse_args()
    tasks, terms = pieces_of(arguments.folder), dict(TERMS)
    session = all(p.problem.machine.backend == "session" for p, _ in tasks.values())
    terms |= OF_ONE_PROCESS if session else {}
    if arguments.fit:
        ways = {"": longer} | ({"that, and ": handed_on_and_longer} if session else {})
        for words, change in ways.items():
            added = fit_seconds(unfound(tasks, partial(change, added=0.0)), slowed)
            terms[f"{words}transfers {1e6 * added:.0f} us longer"] = partial(change, added=added)
    if arguments.alone is not None:
        alone = partial(by_themselves, told=arguments.alone)
        terms["transfers as by themselves"] = alone
        for words, way in (("more on all", slowed), ("more beside work", waiting)):
            seconds = fit_seconds(unfound(tasks, alone), way)
            terms[f"{1e6 * seconds:.0f} us {words}"] = partial(
                fitted, told=arguments.alone, way=way, seconds=seconds
            )
    print(f"| task | placements | {' | '.join(terms)} |\n|---|---|{'---|' * len(terms)}")
    judged: list[list[Floats]] = []
    for name, (pieces, _) in tasks.items():
        simulators = [Simulator(change(pieces.problem)) for change in terms.values()]
        judged.append([simulator(pieces.devices).step_time for simulator in simulators])
        print(row(name, pieces.seconds, judged[-1]))
    together = [np.concatenate(times) for times in zip(*judged, strict=True)]
    every = np.concatenate([pieces.seconds for pieces, _ in tasks.values()])
    searched = np.concatenate([found for _, found in tasks.values()])
    print(row("all", every, together))
    print(row("found by searches", every[searched], [times[searched] for times in together]))


if __name__ == "__main__":
    main()
