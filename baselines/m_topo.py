"""m-TOPO: fill one GPU after the other in topological order (Baechi, Jeon et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.list_scheduling.memory import class_bytes, home_devices
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class MTopo:
    """Each GPU takes classes up to its share of all bytes plus the largest class."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU.

        Classes come in the order of their first operation; those without a GPU kernel go to the
        CPU. Nothing is searched.
        """
        gpus = np.array(problem.machine.accelerators, np.int64)
        if not len(gpus):
            raise Unsupported("the machine has no GPU")
        devices = home_devices(problem)
        free = np.flatnonzero(devices < 0)
        needed = class_bytes(problem)[free]
        if not len(free):
            return Placement.of_classes(problem, devices)
        cap = needed.sum() / len(gpus) + needed.max()
        taken, current = 0, 0
        for index, size in zip(free, needed, strict=True):
            if taken + size > cap and current + 1 < len(gpus):
                taken, current = 0, current + 1
            devices[index] = gpus[current]
            taken += size
        return Placement.of_classes(problem, devices)
