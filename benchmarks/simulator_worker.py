"""Times simulated steps for benchmarks/simulator.py, in this checkout or in another one.

Reads problems that :func:`write` made, so that both checkouts simulate the same; answers each line
of standard input, a task, a semantics and a placement, with nanoseconds per step.
"""

from __future__ import annotations

import json
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

try:
    from suite.core.problem import Problem
    from suite.formats.graph_npz import load_graph_file
    from suite.formats.machine_toml import load_machine
    from suite.simulator.compiled.judge import Simulator
except ModuleNotFoundError:  # a checkout from before the packages
    from suite.graph_file import load_graph_file  # type: ignore[import-not-found,no-redef]
    from suite.machine import Machine  # type: ignore[import-not-found]
    from suite.problem import Problem  # type: ignore[import-not-found,no-redef]
    from suite.simulator.step import Simulator  # type: ignore[import-not-found,no-redef]

    load_machine = Machine.load
from suite.simulator.semantics import PRESETS

SECONDS = 0.2
"""How long one answer is measured."""


@lru_cache(maxsize=1)
def problem_of(folder: Path, task: str) -> Problem:
    """Read a problem back."""
    with np.load(folder / f"{task}.problem.npz") as arrays:
        machine = load_machine(str(arrays["machine"])).with_gpus(int(arrays["gpus"]))
        seconds = arrays["seconds"]
    return Problem(load_graph_file(folder / f"{task}.npz"), machine, seconds)


@lru_cache(maxsize=1)
def simulator_of(folder: Path, task: str, semantics: str) -> Simulator:
    """The simulator of a problem."""
    return Simulator(problem_of(folder, task), semantics=PRESETS[semantics])


def nanoseconds(folder: Path, task: str, semantics: str, placement: str) -> float:
    """Nanoseconds of the fastest of the steps simulated in ``SECONDS``, on one core."""
    simulator = simulator_of(folder, task, semantics)
    with np.load(folder / f"{task}.problem.npz") as arrays:
        row = arrays[placement][None]
    simulator.batch(row, threads=1)
    least, end = np.inf, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begun = time.perf_counter_ns()
        simulator.batch(row, threads=1)
        least = min(least, time.perf_counter_ns() - begun)
    return float(least)


def main() -> None:
    """Answer until standard input ends."""
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(nanoseconds(folder, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
