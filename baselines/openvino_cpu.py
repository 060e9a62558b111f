"""What OpenVINO's HETERO plugin chooses by itself where the CPU is the first of its list.

The row "OpenVINO-CPU" of HSDAG's Table 2 (Duan et al., NeurIPS 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.core.errors import Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


def first_that_supports(problem: Problem, devices: tuple[int, ...]) -> Placement:
    """Return every class on the first of ``devices`` that has a kernel for it.

    HETERO asks one device after another, in the order of its list, what they support, and gives
    each operation to the first that does (OpenVINO's documentation, "Heterogeneous Execution").
    """
    order = np.array(devices)
    return Placement.of_classes(problem, order[problem.allowed[:, order].argmax(axis=1)])


@dataclass(frozen=True)
class OpenVINOCpu:
    """Every class on the first device of the list CPUs, GPUs that has a kernel for it."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; raise Unsupported without a CPU."""
        machine = problem.machine
        if not machine.cpus:
            raise Unsupported(f"machine {machine.name} has no CPU")
        return first_that_supports(problem, (*machine.cpus, *machine.gpus))
