"""The best of many runs of one partitioner: what a search must beat in the same time.

Not from a paper.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from typing import Any

from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import make_placer


@dataclass(frozen=True)
class Restarts:
    """Run a placer with one seed after the other and all its options; judge every answer."""

    placer: str = "metis"
    """Placer that is run."""
    options: Mapping[str, Sequence[Any]] = field(
        default_factory=lambda: {"imbalance": (0.03, 0.01, 0.1, 0.3)}
    )
    """Parameter -> values; all combinations are run in turn."""
    runs: int = 32
    """Runs, unless the search's own budget ends before."""

    def __post_init__(self) -> None:
        """Refuse a count below one and options that the placer does not have (InputError)."""
        if self.runs < 1:
            raise InputError(f"restarts: runs is {self.runs}; give >= 1")
        if self.placer == "restarts":
            raise InputError("restarts: placer is restarts; give another")
        self.variants()

    def variants(self) -> list[Any]:
        """One placer per combination of options."""
        names = list(self.options)
        combined = product(*self.options.values())
        return [make_placer(self.placer, dict(zip(names, v, strict=True))) for v in combined]

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest answer that fits in memory, or the last one if none does.

        Runs as many at a time as there are cores. Raises what the placer raises, and
        BudgetExhausted when the budget does not allow one run.
        """
        cores = len(os.sched_getaffinity(0))
        left = int(min(self.runs, search.remaining))
        waiting = islice(cycle(self.variants()), left)
        answers: list[Placement] = []

        def run(variant: Any, seed: int) -> Placement:
            answered: Placement = variant.place(problem, Search(problem, search.judge, seed))
            return answered

        with ThreadPoolExecutor(cores) as pool:
            while batch := list(islice(waiting, cores)):
                seeds = search.rng.integers(2**31, size=len(batch)).tolist()
                answered = list(pool.map(run, batch, seeds))
                try:
                    search.evaluate(answered)
                except BudgetExhausted:
                    break
                answers = answered
        if not answers:
            raise BudgetExhausted("restarts needs a budget of at least one placement")
        return search.best or answers[-1]
