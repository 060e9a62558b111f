"""Six operations that ColocRL's rules leave apart."""

from __future__ import annotations

import numpy as np
from six_ops import six_ops

from suite.core.graph import OpGraph
from suite.core.problem import Problem


def fan() -> Problem:
    """Operation a is read by b, c and d, b by e and f, c by e, d by f: none by one alone."""
    graph = OpGraph.create(
        "fan",
        ["a", "b", "c", "d", "e", "f"],
        ["MatMul"] * 6,
        producer=[0, 1, 2, 2],
        consumers=[(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 4), (3, 5)],
        tensor_bytes=[100, 50, 70, 30],
        seconds={"cpu": np.full(6, 1.0), "gpu": [0.5, 0.1, 0.2, 0.3, 0.4, 0.6]},
    )
    return Problem.create(graph, six_ops().machine)
