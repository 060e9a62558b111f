"""Scotch's static mapping onto the CPU and the GPUs: the "Scotch" column of HDP and ColocRL.

Vertices are colocation classes weighing their compute time, edges weigh transfer times, and the
target machine has one domain per device with its speed for this graph and its link costs. One speed
per device means that Scotch cannot know which operations suit the CPU, nor does it know memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines.partitioning.scotch import check_parameters, place_with_scotch
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class Scotch:
    """Static mapping by dual recursive bipartitioning (Pellegrini and Roman, 1996)."""

    strategy: str = "default"
    """``default`` (what ColocRL, section 4.2, used), ``quality`` or ``recursive``."""
    imbalance: float = 0.01
    """Share by which a device's load may exceed its part; Scotch's own default."""

    def __post_init__(self) -> None:
        """Refuse an unknown strategy or an imbalance outside (0, 1) (InputError)."""
        check_parameters(self.strategy, self.imbalance)

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return Scotch's mapping; raises NativeCrash when Scotch fails."""
        devices = np.arange(problem.machine.n_devices)
        return place_with_scotch(problem, search, devices, self.strategy, self.imbalance)
