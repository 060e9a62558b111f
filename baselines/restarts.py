"""The best of many runs of one partitioner: what a search must beat in the same time.

Not from a paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from typing import Any

from suite.core.cores import my_share
from suite.core.errors import BudgetExhausted, InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.registry import make_placer
from suite.search.subprocess_call import NativeCrash


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

    def variants(self) -> list[Placer]:
        """One placer per combination of options."""
        names = list(self.options)
        combined = product(*self.options.values())
        return [make_placer(self.placer, dict(zip(names, v, strict=True))) for v in combined]

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the fastest answer that fits in memory, or the last one if none does.

        Runs as many at a time as it may have threads; what a placer evaluates itself counts, too.
        A run whose library crashes has no answer; ``crashed`` among the search's facts counts
        those. Raises what the placer raises, NativeCrash when every run crashes, and
        BudgetExhausted when the budget does not allow one run.
        """
        threads = my_share().threads
        waiting = islice(cycle(self.variants()), self.runs)
        answers: list[Placement] = []
        crashes: list[NativeCrash] = []
        with ThreadPoolExecutor(threads) as pool:
            while batch := list(islice(waiting, int(min(threads, search.remaining)))):
                try:
                    answers = _answers(problem, search, batch, pool, crashes) or answers
                except BudgetExhausted:
                    break
        if crashes:
            search.note(crashed=len(crashes))
        if not answers:
            if crashes:
                raise crashes[-1]
            raise BudgetExhausted("restarts needs a budget of at least one placement")
        return search.best or answers[-1]


def _answers(
    problem: Problem,
    search: Search,
    batch: Sequence[Placer],
    pool: ThreadPoolExecutor,
    crashes: list[NativeCrash],
) -> list[Placement]:
    """Run placers side by side, with equal shares of the budget, and judge their answers.

    What crashed is added to ``crashes``.
    """
    seeds = search.rng.integers(2**31, size=len(batch)).tolist()
    # One evaluation of each share is for judging the answer.
    share = search.remaining / len(batch) - 1
    inner = [search.inner(seed, share) for seed in seeds]

    def run(placer: Placer, one: Search) -> Placement | NativeCrash:
        try:
            return placer.place(problem, one)
        except NativeCrash as crash:
            return crash

    try:
        ended = list(pool.map(run, batch, inner))
    finally:
        for one in inner:
            search.count(one)
    crashes += [one for one in ended if isinstance(one, NativeCrash)]
    answers = [one for one in ended if not isinstance(one, NativeCrash)]
    if answers:
        search.evaluate(answers)
    return answers
