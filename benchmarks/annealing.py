"""What each part of annealing brings: mean step time over seeds after as many evaluations.

    python benchmarks/annealing.py [EVALUATIONS]

The outcome is in docs/baselines.md; it is the same on every machine. What its layouts and its moves
on the repeated structure bring is in reports/annealing.md.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np

from baselines.annealing import Annealing
from suite.bench.load_problem import make_problem
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import task
from suite.simulator.compiled.judge import Simulator

TASKS = ("inception_v3", "resnet_152", "rnnlm", "nmt_2", "nmt_4")
SEEDS = 3
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as it is": ({}, {}),
    "no move along the critical chain": ({"guided": 0.0}, {}),
    "no groups by type": ({}, {"moves.BY_TYPE": ()}),
    "ten times the heat": ({"temperature": 0.02}, {}),
    "one walk": ({"walks": 1}, {}),
    "as many walks and neighbours, however small the budget": ({}, {"walk.FOR_EACH": 1}),
}
"""Variant -> changed parameters, and constants of baselines.local_search."""


def best(problem: Problem, parameters: dict[str, Any], constants: dict[str, Any]) -> float:
    """Mean over seeds of the best step time, seconds."""
    times = []
    for seed in range(SEEDS):
        search = Search(problem, Simulator(problem), seed)
        with ExitStack() as changed:
            for name, value in constants.items():
                changed.enter_context(patch(f"baselines.local_search.{name}", value))
            Annealing(**parameters).place(problem, search)
        times.append(search.best_time)
    return float(np.mean(times))


def main(evaluations: int) -> None:
    """Print a row per variant, a column per task."""
    problems = [make_problem(name, "k40", task(name).gpus) for name in TASKS]
    print("|  | " + " | ".join(TASKS) + " |")
    for variant, (parameters, constants) in VARIANTS.items():
        asked = parameters | {"evaluations": evaluations}
        cells = [f"{best(problem, asked, constants):.3f}" for problem in problems]
        print(f"| {variant} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000)
