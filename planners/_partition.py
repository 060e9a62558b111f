"""A grouping to start from: METIS on the class graph (Karypis and Kumar 1998)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines._quotient import class_graph, integer_loads
from suite.isolated import call
from suite.problem import Problem


def partition(problem: Problem, groups: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Cut the graph into ``groups`` parts of like load with little traffic between them.

    Returns int64[n_classes]. NativeCrash when METIS fails.
    """
    devices = np.arange(problem.machine.n_devices)
    graph = class_graph(problem, devices)
    arcs = integer_loads(graph.seconds)
    answer = call(
        "metis",
        "baselines._metis:k_way",
        {
            "offsets": graph.offsets,
            "neighbours": graph.neighbours,
            "loads": integer_loads(problem.class_seconds.min(axis=1)),
            "edge_loads": arcs,
            "speeds": np.ones(groups, np.int64),
            "imbalance": 0.1,
            "seed": rng.integers(2, 2**30),
        },
    )
    return answer["parts"]
