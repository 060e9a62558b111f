"""What a list scheduler decides on at once: colocation classes, or Baechi's co-placement groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.list_scheduling.memory import home_devices
from suite.core.colocation import colocation_groups
from suite.core.problem import Problem


def units(problem: Problem, *, coplaced: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the units from 0: (int64[ops] unit of each operation, int64[units] its home or -1).

    Colocation classes, or with ``coplaced`` the groups of Baechi (Jeon et al. 2020, section 3):
    what is read by a single operation goes with it, a gradient with what it differentiates. The
    home is the device of a unit that no GPU can run; -1 means that there is a choice.
    """
    graph = problem.graph
    homes = home_devices(problem)
    if not coplaced:
        return np.asarray(graph.colocation, np.int64), homes
    groups = colocation_groups(graph)
    gpus = list(problem.machine.accelerators)
    # Classes that may go to some GPUs only stay alone, so that a group may go wherever one may.
    everywhere = np.all(problem.allowed[:, gpus], axis=1, keepdims=True)[graph.colocation, 0]
    lonely = graph.n_ops + graph.colocation
    _, first, unit = np.unique(
        np.where(everywhere, groups, lonely), return_index=True, return_inverse=True
    )
    return unit.reshape(-1).astype(np.int64), homes[graph.colocation[first]]
