"""So many groups of classes as are asked for, made of the modules of a graph's structure."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from baselines.structure.find import Structure, find_structure
from suite.core.arrays import Floats
from suite.core.problem import Problem

Numbers = NDArray[np.int64]


def cut_structure(problem: Problem, count: int, rng: np.random.Generator) -> Numbers:
    """Find the structure, and cut its modules: see :func:`cut_modules`."""
    return cut_modules(problem, find_structure(problem, int(rng.integers(2**31))), count)


def cut_modules(problem: Problem, structure: Structure, count: int) -> Numbers:
    """int64[n_classes]: ``count`` groups, numbered from 0, or one a class where classes are fewer.

    They begin as the modules of the finest resolution that has no more, and the heaviest group is
    cut in two until they are as many: into what no product follows and all else, then along the
    axis into an earlier and a later half, at last in the order of the graph. Work counts where it
    is fastest.
    """
    seconds = problem.class_seconds.min(axis=1)
    fitting = [level for level in structure.modules if len(np.unique(level)) <= count]
    start = fitting[-1] if fitting else np.zeros(problem.graph.n_classes, np.int64)
    groups = [np.flatnonzero(start == number) for number in np.unique(start)]
    heap = [(-float(seconds[members].sum()), number) for number, members in enumerate(groups)]
    heapq.heapify(heap)
    while heap and len(groups) < count:
        _, number = heapq.heappop(heap)
        if len(groups[number]) == 1:
            continue
        groups[number], rest = _halved(groups[number], structure, seconds)
        groups.append(rest)
        for at in (number, len(groups) - 1):
            heapq.heappush(heap, (-float(seconds[groups[at]].sum()), at))
    group_of = np.zeros(problem.graph.n_classes, np.int64)
    for number, members in enumerate(groups):
        group_of[members] = number
    return group_of


def _halved(members: Numbers, structure: Structure, seconds: Floats) -> tuple[Numbers, Numbers]:
    """Cut a group of several classes in two."""
    last = structure.last[members]
    if last.any() and not last.all():
        return members[~last], members[last]
    step = structure.step[members]
    if step.min() == step.max():
        step = np.arange(len(members))
    done = np.cumsum(np.bincount(step, seconds[members]))
    middle = int(np.searchsorted(done, done[-1] / 2, side="right"))
    early = step < min(max(middle, int(step.min()) + 1), int(step.max()))
    return members[early], members[~early]
