"""What OpenVINO's HETERO plugin chooses by itself where the GPU is the first of its list.

The row "OpenVINO-GPU" of HSDAG's Table 2 (Duan et al., NeurIPS 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

from baselines.openvino_cpu import first_that_supports
from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class OpenVINOGpu:
    """Every class on the first device of the list GPUs, CPUs that has a kernel for it."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement, which may run out of memory; raise Unsupported without a GPU."""
        machine = problem.machine
        if not machine.gpus:
            raise Unsupported(f"machine {machine.name} has no GPU")
        return first_that_supports(problem, (*machine.gpus, *machine.cpus))
