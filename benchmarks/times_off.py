"""How much recorded placements owe to the exact times of operations.

    python benchmarks/times_off.py results/race results/strong > benchmarks/times_off.md

Simulates the recorded placements of each task, on as many GPUs as it is meant for, with each
operation's time off at random, by itself. Prints Markdown tables: by how many per cent the step is
longer than recorded, in the mean of eight draws and the median of a placer's seeds. A placer that
stands in several folders is taken from the first.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from suite.bench.load_problem import make_problem
from suite.bench.record import read_record
from suite.bench.what_if import DRAWS, times_off
from suite.core.arrays import Ints
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.recorded_placement import read_devices
from suite.search.registry import task
from suite.simulator.judges import make_simulator

SHARES = (0.01, 0.05, 0.2)
LEAD = """\
# What placements owe to the exact times of operations

`python benchmarks/times_off.py {folders}`: recorded placements, simulated with
each operation's time off at random, multiplied by exp(s z), z standard normal: by how many per cent
the step is longer, in the mean of {draws} draws, and in the median of a placer's seeds. Off by
20 %, operations themselves are 2 % longer in the mean."""


def tasks_of(folders: Iterable[Path]) -> list[str]:
    """The tasks that have records, by their number of GPUs."""
    known = {placer.parent.name for folder in folders for placer in folder.glob("*/*gpu/*/*")}
    return sorted(known, key=lambda name: (task(name).gpus, name))


def placements(folders: Iterable[Path], name: str) -> tuple[Problem, dict[str, list[Ints]]]:
    """The problem of a task, and its recorded placements that fit, by placer."""
    found, gpus = dict[str, list[Ints]](), task(name).gpus
    for folder in folders:
        for placer in sorted(folder.glob(f"*/{gpus}gpu/{name}/*")):
            if placer.name not in found:
                problem = make_problem(name, placer.parts[-4], gpus)
                fits = (r for r in placer.glob("seed*.json") if read_record(r)["status"] == "ok")
                rows = [Placement.of(problem, read_devices(record)).devices for record in fits]
                if rows:
                    found[placer.name] = rows
    return problem, found


def step_times(problems: Iterable[Problem], rows: Ints) -> np.ndarray:
    """float64[problems, placements]: seconds."""
    return np.array([make_simulator(problem)(rows).step_time for problem in problems])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    cells: dict[str, dict[str, list[str]]] = defaultdict(dict)
    names = tasks_of(folders)
    for name in names:
        problem, found = placements(folders, name)
        rows = np.concatenate([np.array(some) for some in found.values()])
        before = step_times([problem], rows)[0]
        means = [step_times(times_off(problem, s), rows).mean(axis=0) / before for s in SHARES]
        at = 0
        for placer, some in found.items():
            mine = slice(at, at + len(some))
            longer = [f"{100 * (np.median(mean[mine]) - 1):+.1f}" for mean in means]
            cells[placer][name] = [f"{np.median(before[mine]):.3f}", *longer]
            at += len(some)
    print(LEAD.format(folders=" ".join(map(str, folders)), draws=DRAWS))
    for number, head in enumerate(["Step time as recorded (s)", *SHARES]):
        title = head if number == 0 else f"Operations off by {head:.0%}: per cent longer"
        print(f"\n## {title}\n\n| placer | {' | '.join(names)} |")
        print("|" + "---|" * (1 + len(names)))
        for placer, of in sorted(cells.items()):
            line = (of[name][number] if name in of else "-" for name in names)
            print(f"| {placer} | {' | '.join(line)} |")


if __name__ == "__main__":
    main()
