"""What constants of annealing bring: its median step time over seeds after as many evaluations.

    python benchmarks/annealing.py [EVALUATIONS]

The outcome is in docs/baselines.md; it is the same on every machine. What its settings bring is in
reports/annealing.md.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any
from unittest.mock import patch

from baselines.annealing import Annealing
from suite.bench.load_problem import make_problem
from suite.core.cores import Share, cores, take_share
from suite.search.placer import Search
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

TASKS = ("inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4")
SEEDS = 10
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "as many walks and neighbours, however small the budget": {"walks.FOR_EACH": 1},
    "no groups by type": {"moves.BY_TYPE": ()},
}
"""Variant -> constants of baselines.local_search."""


def best(name: str, evaluations: int, constants: dict[str, Any], seed: int) -> float:
    """The best step time that a search finds, seconds."""
    problem = make_problem(name, "k40", task(name).gpus)
    search = Search(problem, Simulator(problem), seed)
    with ExitStack() as changed:
        for constant, value in constants.items():
            changed.enter_context(patch(f"baselines.local_search.{constant}", value))
        Annealing(evaluations=evaluations).place(problem, search)
    return search.best_time


def main(evaluations: int) -> None:
    """Print a row per variant, a column per task."""
    print("|  | " + " | ".join(TASKS) + " |")
    with ProcessPoolExecutor(initializer=take_share, initargs=(Share.of(cores()),)) as pool:
        for variant, constants in VARIANTS.items():
            found = (
                pool.map(partial(best, name, evaluations, constants), range(SEEDS))
                for name in TASKS
            )
            print(f"| {variant} | " + " | ".join(f"{median(times):.3f}" for times in found) + " |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
