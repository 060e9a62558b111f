"""Scotch on the GPUs alone: the "MinCut" column of HDP and ColocRL.

The papers define it as the optimizer of their Scotch column without the CPU: compute is balanced
over the GPUs and traffic between them minimised. Classes without a GPU kernel go to the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.partitioning.scotch import check_parameters, place_with_scotch
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class MinCut:
    """Static mapping by Scotch with the GPUs as its only domains."""

    strategy: str = "default"
    """``default`` (what ColocRL, section 4.2, used), ``quality`` or ``recursive``."""
    imbalance: float = 0.01
    """Share by which a GPU's load may exceed its part; Scotch's own default."""

    def __post_init__(self) -> None:
        """Refuse an unknown strategy or an imbalance outside (0, 1) (InputError)."""
        check_parameters(self.strategy, self.imbalance)

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the mapping; Unsupported without a GPU, NativeCrash when Scotch fails."""
        gpus = np.array(problem.machine.accelerators, np.int64)
        return place_with_scotch(problem, search, gpus, self.strategy, self.imbalance)
