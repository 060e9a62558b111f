"""So many groups of classes as are asked for, made of the modules of a graph's structure."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

from baselines.structure.find import Structure
from suite.core.arrays import Floats
from suite.core.problem import Problem

Numbers = NDArray[np.int64]


def cut_modules(problem: Problem, structure: Structure, count: int) -> Numbers:
    """int64[n_classes]: at most ``count`` groups, numbered from 0.

    They begin as the modules of the finest resolution that has no more, and the heaviest group is
    cut in two until they are as many: into what no product follows and all else, then along the
    axis into an earlier and a later half. Work counts where it is fastest.
    """
    seconds = problem.class_seconds.min(axis=1)
    fitting = [level for level in structure.modules if len(np.unique(level)) <= count]
    start = fitting[-1] if fitting else np.zeros(problem.graph.n_classes, np.int64)
    groups = [np.flatnonzero(start == number) for number in np.unique(start)]
    heap = [(-float(seconds[members].sum()), number) for number, members in enumerate(groups)]
    heapq.heapify(heap)
    while heap and len(groups) < count:
        _, number = heapq.heappop(heap)
        halves = _halved(groups[number], structure, seconds)
        if halves is None:
            continue
        groups[number] = halves[0]
        groups.append(halves[1])
        for at in (number, len(groups) - 1):
            heapq.heappush(heap, (-float(seconds[groups[at]].sum()), at))
    group_of = np.zeros(problem.graph.n_classes, np.int64)
    for number, members in enumerate(groups):
        group_of[members] = number
    return group_of


def _halved(
    members: Numbers, structure: Structure, seconds: Floats
) -> tuple[Numbers, Numbers] | None:
    """Cut a group in two; None where nothing tells its classes apart."""
    last = structure.last[members]
    if last.any() and not last.all():
        return members[~last], members[last]
    step = structure.step[members]
    done = np.cumsum(np.bincount(step, seconds[members]))
    middle = int(np.searchsorted(done, done[-1] / 2, side="right"))
    early = step < max(middle, int(step.min()) + 1)
    return None if early.all() else (members[early], members[~early])
