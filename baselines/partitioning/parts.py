"""Groups of classes that belong together: METIS on the class graph (Karypis and Kumar 1998)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import class_graph, integer_loads
from baselines.partitioning.metis import k_way
from suite.core.arrays import Ints
from suite.core.problem import Problem
from suite.search.subprocess_call import call


def parts(
    problem: Problem, counts: Sequence[int], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Cut the graph into ``counts[i]`` parts of like load with little traffic between them.

    Returns int64[n_classes] per count; each class is a part of its own where there are no more
    classes than parts. NativeCrash when METIS fails.
    """
    classes = problem.graph.n_classes
    asked = [count for count in counts if count < classes]
    if not asked:
        return [np.arange(classes)] * len(counts)
    graph = class_graph(problem, np.arange(problem.machine.n_devices))
    question = {
        "offsets": graph.offsets,
        "neighbours": graph.neighbours,
        "loads": integer_loads(problem.class_seconds.min(axis=1)),
        "edge_loads": integer_loads(graph.seconds),
        "counts": np.array(asked),
        "seeds": rng.integers(2, 2**30, len(asked)),
    }
    answer = iter(
        call("metis", "baselines.partitioning.parts:cut", question)["parts"].astype(np.int64)
    )
    return [next(answer) if count < classes else np.arange(classes) for count in counts]


def cut(counts: Ints, seeds: Ints, **graph: Ints) -> dict[str, NDArray[Any]]:
    """Cut one graph several times; runs in a child process. Returns int64[cuts, vertices]."""
    cuts = [
        k_way(**graph, speeds=np.ones(int(count), np.int64), imbalance=0.1, seed=seed)["parts"]
        for count, seed in zip(counts, seeds, strict=True)
    ]
    return {"parts": np.stack(cuts)}
