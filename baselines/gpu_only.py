"""Everything on the first GPU: the "GPU only" column of HDP and ColocRL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.partitioning.problem import homes_outside
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class GpuOnly:
    """All classes on GPU 0; those without a GPU kernel on the fastest CPU, as TensorFlow does."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement, which may run out of memory; Unsupported without a GPU."""
        if not problem.machine.gpus:
            raise Unsupported(f"machine {problem.machine.name} has no GPU")
        gpu = problem.machine.gpus[0]
        homes = homes_outside(problem, np.array([gpu]))
        return Placement.of_classes(problem, np.where(homes < 0, gpu, homes))
