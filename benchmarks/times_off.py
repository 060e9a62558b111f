"""How much recorded placements owe to the exact times of operations.

    python benchmarks/times_off.py results/race results/strong > benchmarks/times_off.md

Simulates the placement of every record in these folders (of several seeds of a placer, of each)
with each operation's time off at random, by itself, and prints a Markdown table: the step time that
is recorded, and how much longer the step is in the mean of eight draws (medians over seeds, and the
range). A placer that stands in several folders is taken from the first.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from suite.bench.load_problem import make_problem
from suite.bench.record import read_record
from suite.bench.what_if import DRAWS, times_off
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.recorded_placement import read_devices
from suite.simulator.judges import own_semantics

SHARES = (0.01, 0.05, 0.2)


def records_of(folders: list[Path]) -> dict[tuple[str, str, int], dict[str, list[Path]]]:
    """The records of each machine, task and number of GPUs, by placer."""
    found: dict[tuple[str, str, int], dict[str, list[Path]]] = defaultdict(dict)
    for folder in folders:
        for placer in sorted(folder.glob("*/*gpu/*/*")):
            machine, gpus, task, name = placer.parts[-4:]
            mine = found[task, machine, int(gpus.removesuffix("gpu"))]
            mine.setdefault(name, sorted(placer.glob("seed*.json")))
    return found


def longer(problem: Problem, record: Path) -> tuple[float, list[float]]:
    """Seconds of the step, and for each share by how much the mean of the draws is longer."""
    devices = Placement.of(problem, read_devices(record)).devices
    step, rules = float(read_record(record)["step_time"]), own_semantics(problem.machine)
    means = [times_off(problem, devices, rules, share=share).mean() for share in SHARES]
    return step, [float(mean) / step - 1 for mean in means]


def cell(shares: list[float]) -> str:
    """Median and range of what the seeds' steps are longer by."""
    low, middle, high = (f"{100 * f(shares):+.1f}" for f in (np.min, np.median, np.max))
    return middle if low == high else f"{middle} [{low} to {high}]"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    folders = parser.parse_args().folders
    print("# What placements owe to the exact times of operations\n")
    print(f"`python benchmarks/times_off.py {' '.join(map(str, folders))}`: recorded placements,")
    print("simulated with each operation's time off at random by 1, 5 and 20 % (multiplied by")
    print("exp(s z), z standard normal): by how many per cent the step is longer, in the mean of")
    print(f"{DRAWS} draws. Of several seeds the median, and the range.\n")
    print("| task | placer | seeds | step time (s) | 1 % off | 5 % off | 20 % off |")
    print("|---|---|---|---|---|---|---|")
    for (task, machine, gpus), placers in records_of(folders).items():
        problem, rows = make_problem(task, machine, gpus), []
        for name, paths in placers.items():
            fits = [path for path in paths if read_record(path)["status"] == "ok"]
            if fits:
                steps, off = zip(*(longer(problem, path) for path in fits), strict=True)
                cells = [cell(list(column)) for column in zip(*off, strict=True)]
                rows.append((float(np.median(steps)), name, len(fits), cells))
        for step, name, count, cells in sorted(rows):
            print(f"| {task} | {name} | {count} | {step:.4f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
