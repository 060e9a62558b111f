"""HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri and Wu 2002), memory respected.

The textbook's model: every transfer takes latency + bytes / bandwidth and waits for no other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.list_scheduling.gaps import first_fit
from baselines.list_scheduling.list_scheduler import Plan, commit, finish, fits, prepare
from baselines.list_scheduling.memory_tracker import MemoryTracker
from baselines.list_scheduling.ranks import by_upward_rank
from baselines.list_scheduling.units import units
from baselines.list_scheduling.work import Work
from suite.core.arrays import Ints
from suite.core.compilation import kernel
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Heft:
    """By decreasing upward rank, each operation goes where it ends first, into a gap if it fits.

    The first operation of a colocation class decides for the class, among the GPUs with room.
    """

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU, or when a class fits on none any more.

        Nothing is searched.
        """
        if not problem.machine.accelerators:
            raise Unsupported("the machine has no GPU")
        classes = units(problem, coplaced=False)
        work, plan, tracker = prepare(problem, classes)
        stuck = _schedule(work, plan, tracker, by_upward_rank(problem))
        return finish(problem, classes, plan, stuck)


@kernel
def _schedule(work: Work, plan: Plan, tracker: MemoryTracker, order: Ints) -> int:
    """Fill in the plan; return -1, or the operation that fits nowhere."""
    for op in order:
        best_end, best_start, best_device = np.inf, 0.0, -1
        for device in range(len(plan.counts)):
            if not fits(work, plan, tracker, op, device):
                continue
            seconds = work.seconds[op, device]
            start = first_fit(
                plan.busy[0, device],
                plan.busy[1, device],
                plan.counts[device],
                plan.arrival[op, device],
                seconds,
            )
            if start + seconds < best_end:
                best_end, best_start, best_device = start + seconds, start, device
        if best_device < 0:
            return int(op)
        commit(work, plan, tracker, op, best_device, best_start)
    return -1
