"""The structure of a problem's graph, by colocation class: what moves of a search are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import mean_transfer
from baselines.structure.axis import find_axis
from baselines.structure.depth import depths
from baselines.structure.modules import find_modules
from baselines.structure.roles import find_roles
from baselines.structure.updates import find_last, find_updates
from suite.core.arrays import Floats
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.simulator.longest_path import longest_paths

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Structure:
    """What each colocation class is in the repeated structure; its longest operation decides."""

    role: Numbers
    """int64[n_classes]: classes that play the same part."""
    step: Numbers
    """int64[n_classes]: position along the axis on which the role repeats, from 0."""
    modules: Numbers
    """int64[resolutions, n_classes]: roles that belong together, coarse to fine."""
    serves: Numbers
    """int64[n_classes]: the variable (its class) that alone depends on it, or -1."""
    depth: Floats
    """float64[n_classes]: edges on the longest path to it, in the forward pass; NaN behind that."""
    last: NDArray[np.bool_]
    """bool[n_classes]: whether no product follows on it, as on weight gradients and updates."""


def find_structure(problem: Problem, seed: int = 0) -> Structure:
    """Find roles, their order, and modules; ``seed`` decides ties among modules."""
    graph = problem.graph
    roles = find_roles(graph)
    chosen = _longest(problem)
    costs = mean_transfer(problem, np.arange(problem.machine.n_devices))
    return Structure(
        role=np.asarray(roles[chosen], np.int64),
        step=find_axis(graph, roles).step[chosen],
        modules=find_modules(graph, roles, costs, seed)[:, chosen],
        serves=find_updates(graph)[chosen],
        depth=_forward_depth(graph)[chosen],
        last=find_last(graph)[chosen],
    )


def _forward_depth(graph: OpGraph) -> Floats:
    """float64[ops]: depth of what lies in the first half of the longest path through it."""
    depth = depths(graph)
    left = longest_paths(graph, np.ones(graph.n_ops, np.int64))
    return np.where((depth > 0) & (depth < left), depth, np.nan)


def _longest(problem: Problem) -> Numbers:
    """int64[n_classes]: the operation of each class that takes longest anywhere."""
    seconds = problem.seconds.max(axis=1, where=np.isfinite(problem.seconds), initial=0)
    order = np.lexsort((-seconds, problem.graph.colocation))
    firsts = np.unique(problem.graph.colocation[order], return_index=True)[1]
    return order[firsts].astype(np.int64)
