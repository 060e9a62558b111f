"""The most promising of many cheap answers, by an estimate: nothing is evaluated.

Not from a paper. Partitioners and list schedulers see one side of a problem each: what is sent, or
what can start first. Layouts of the graph's repeated structure, drawn at random, see neither, but
among many some are good. A list schedule of the finished placement tells which
(docs/baselines.md), so this is a first placement where every evaluation is a run on real
hardware, and a starting point for a search.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.estimate import Estimate
from baselines.local_search.answers import answer
from baselines.local_search.fitting import Fitting
from baselines.local_search.host_cuts import check_hosted
from baselines.local_search.layouts import Layouts
from baselines.local_search.settling import Settling
from baselines.structure.find import find_structure
from suite.core.cores import my_share
from suite.core.errors import InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.registry import make_placer

Answer = tuple[str, NDArray[np.int64]]
"""Where it comes from, and its class devices, int64[n_classes]."""
Cost = tuple[float, float]
"""Memory that is missing, as a share of the fullest device's, and seconds of a step."""


@dataclass(frozen=True)
class BestEstimate:
    """Ask placers and METIS, draw layouts, keep what a list schedule finds fastest of what fits."""

    placers: tuple[str, ...] = ("gpu_only", "m_etf")
    """Placers that are asked once each."""
    cuts: int = 16
    """Partitions by METIS."""
    imbalances: tuple[float, ...] = (0.03, 0.3, 0.01, 0.1)
    """Imbalances that it is asked to allow, in turn: parts that wait for one another are the faster
    for unequal loads, where fewer tensors are cut then."""
    layouts: int = 300
    """Layouts of the repeated structure that are drawn."""
    hosted: float = 0.2
    """Share of them in which the host takes over what a cut gives it
    (baselines/local_search/host_cuts.py)."""

    def __post_init__(self) -> None:
        """Refuse counts below 0, unknown placers and shares that are none (InputError)."""
        object.__setattr__(self, "placers", tuple(self.placers))
        object.__setattr__(self, "imbalances", tuple(self.imbalances))
        for name in ("cuts", "layouts"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} is {getattr(self, name)}; give >= 0")
        check_hosted(self.hosted)
        if "best_estimate" in self.placers:
            raise InputError("placers has best_estimate itself; give others")
        if not self._asked() and not self.layouts:
            raise InputError("nothing to choose from; give placers or layouts")

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the answer whose estimate is shortest among those that fit by the estimate.

        Where none does, the one that lacks least memory. Raises Unsupported where no placer
        answers and no layouts are drawn.
        """
        if not problem.graph.n_classes or problem.machine.n_devices == 1:
            return Placement.of_classes(problem, np.zeros(problem.graph.n_classes, np.int64))
        ranked = self.ranked(Estimate(problem), search)
        chosen, row = ranked[0][1]
        names = Counter(name for _, (name, _) in ranked)
        search.note(chosen=chosen, estimated=ranked[0][0][1], candidates=names)
        return Placement.of_classes(problem, row)

    def ranked(self, estimate: Estimate, search: Search) -> list[tuple[Cost, Answer]]:
        """All answers, the most promising first, with what they are estimated to cost.

        Raises Unsupported where there is none.
        """
        problem = estimate.problem
        fitted = Fitting(problem).fitted

        def costs(rows: list[NDArray[np.int64]]) -> list[Cost]:
            found = estimate.of_all([fitted(row) for row in rows])
            return [(float(problem.machine.missing_memory(peak)), time) for time, peak in found]

        answers = self._answers(problem, search)
        paid = costs([row for _, row in answers])
        candidates = list(zip(paid, answers, strict=True))
        if self.layouts:
            layouts = Layouts(problem, find_structure(problem), Settling(problem))
            plain, hosted = layouts.judged(self.layouts, self.hosted, search.rng, costs)
            for name, judged in (("layout", plain), ("hosted layout", hosted)):
                candidates += [(cost, (name, row)) for cost, row in judged]
        if not candidates:
            raise Unsupported("none of the placers has an answer, and no layouts are drawn")
        # Where a class cannot run it goes to the first device that runs it, as was estimated.
        placed = [
            (cost, (name, np.asarray(fitted(row), np.int64))) for cost, (name, row) in candidates
        ]
        return sorted(placed, key=lambda pair: pair[0])

    def _asked(self) -> list[tuple[str, Placer]]:
        """All placers that are asked, with their names."""
        asked = [(name, make_placer(name, {})) for name in self.placers]
        variants = [make_placer("metis", {"imbalance": share}) for share in self.imbalances]
        return asked + [("metis", metis) for metis in islice(cycle(variants), self.cuts)]

    def _answers(self, problem: Problem, search: Search) -> list[Answer]:
        """What the placers answer, as far as they do without an evaluation."""
        asked = self._asked()
        seeds = search.rng.integers(2**31, size=len(asked)).tolist()

        def ask(one: tuple[str, Placer], seed: int) -> tuple[str, NDArray[np.int64] | str]:
            name, placer = one
            return name, answer(placer, problem, search.inner(seed, 0))

        with ThreadPoolExecutor(my_share().threads) as pool:
            found = list(pool.map(ask, asked, seeds))
        declined = {name: why for name, why in found if isinstance(why, str)}
        if declined:
            search.note(declined=declined)
        return [(name, row) for name, row in found if not isinstance(row, str)]
