"""Post (Gao et al. 2018) with the settings that measured best here; not the paper's.

Little is known of those, so that there is little to depart from: decisions are 64 groups made of
the modules of the graph's repeated structure (baselines/structure/cut.py), where ``post`` takes
ColocRL's hand-made groups, whose number grows with the graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.structure.cut import cut_structure
from planners.features.class_graph import ClassGraph
from planners.post import Post


@dataclass(frozen=True)
class PostTuned(Post):
    """Fewer decisions: on parts of the graph."""

    groups: int = 64
    """Groups; the more, the longer they take to learn. 0: ColocRL's."""

    def grouping(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """The group of each class, int64[classes]; NativeCrash when METIS fails."""
        if not self.groups:
            return super().grouping(graph, rng)
        return cut_structure(graph.problem, self.groups, rng)
