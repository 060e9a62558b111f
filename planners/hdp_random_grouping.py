"""Ablation of HDP: the Placer on a random grouping (Mirhoseini et al. 2018, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planners.features.class_graph import ClassGraph
from planners.hdp import HDP
from planners.policy_gradient.fixed_grouping import FixedGrouping


@dataclass(frozen=True)
class RandomGrouping(HDP):
    """Each operation in a group drawn uniformly, once per seed; only the Placer learns."""

    def grouper(self, graph: ClassGraph, rng: np.random.Generator) -> FixedGrouping:
        """Draw the grouping."""
        return FixedGrouping(rng.integers(0, self.groups, graph.count), self.groups)
