"""HSDAG's nodes as the co-location groups of a problem, for planners that place such groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planners.features.class_graph import ClassGraph
from planners.features.coarse_graph import Coarse
from suite.core.problem import Problem


@dataclass(frozen=True, eq=False)
class CoarseProblem(Problem):
    """A problem whose groups are only children with the parents whose only child they are.

    ColocRL's groups go on joining groups, so that networks for inference, where every branch comes
    together again, end as one group (ResNet-50, Inception-V3) or three (BERT).
    """

    @classmethod
    def like(cls, problem: Problem) -> CoarseProblem:
        """The same problem but for its groups."""
        return cls(problem.graph, problem.machine, problem.seconds, problem.expert)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """int64[ops]: the node of each operation (HSDAG, section 2)."""
        return Coarse.of(ClassGraph(self), "chain").of_class[self.graph.colocation]
