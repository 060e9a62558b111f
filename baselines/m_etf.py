"""m-ETF: earliest task first under memory limits (Baechi, Jeon et al. 2020; Hwang et al. 1989)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from baselines._list import schedule
from baselines._memory import class_bytes, home_devices
from suite.errors import Unsupported
from suite.placement import Placement
from suite.placer import Search
from suite.problem import Problem


@dataclass(frozen=True)
class MEtf:
    """Of all ready operations and GPUs with room, the pair that can start first; then again.

    The first operation of a colocation class decides for the class, whose bytes are then taken.
    """

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return the placement; Unsupported without a GPU, or when a class fits on none any more.

        Transfers take latency + bytes / bandwidth and wait for nobody. Nothing is searched.
        """
        if not problem.machine.accelerators:
            raise Unsupported("the machine has no GPU")
        devices = schedule(problem, home_devices(problem), class_bytes(problem))
        full = np.flatnonzero(devices < 0)
        if len(full):
            op = problem.graph.op_names[int(np.argmax(problem.graph.colocation == full[0]))]
            raise Unsupported(f"no GPU has room for the colocation class of {op!r}")
        return Placement.of_classes(problem, devices)
