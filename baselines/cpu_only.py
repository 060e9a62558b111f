"""Everything on the first CPU: the "CPU only" column of HDP and ColocRL."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class CpuOnly:
    """All operations on CPU 0."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; raise Unsupported where CPU 0 is missing or cannot run all."""
        machine, graph = problem.machine, problem.graph
        if not machine.cpus:
            raise Unsupported(f"machine {machine.name} has no CPU")
        cpu = machine.cpus[0]
        for op in np.flatnonzero(~np.isfinite(problem.seconds[:, cpu]))[:1]:
            raise Unsupported(f"operation {graph.op_names[op]!r} does not run on a CPU")
        return Placement.of(problem, np.full(graph.n_ops, cpu))
