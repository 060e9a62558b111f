"""What OpenVINO's HETERO plugin chooses by itself where the GPU is the first of its list.

The row "OpenVINO-GPU" of HSDAG's Table 2 (Duan et al., NeurIPS 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class OpenVINOGpu:
    """Every class on the first device of the list GPUs, CPUs that has a kernel for it.

    HETERO asks one device after another, in the order of its list, what they support, and gives
    each operation to the first that does (OpenVINO's documentation, "Heterogeneous Execution").
    """

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement, which may run out of memory; raise Unsupported without a GPU."""
        machine = problem.machine
        if not machine.gpus:
            raise Unsupported(f"machine {machine.name} has no GPU")
        order = np.array([*machine.gpus, *machine.cpus])
        return Placement.of_classes(problem, order[problem.allowed[:, order].argmax(axis=1)])
