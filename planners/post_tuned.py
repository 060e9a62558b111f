"""Post (Gao et al. 2018) with the settings that measured best here; not the paper's.

Little is known of those, so that there is little to depart from: decisions are 32 groups made of
the modules of the graph's repeated structure (baselines/structure/cut.py), where ``post`` takes
ColocRL's hand-made groups, whose number grows with the graph; a group starts on a device the more
likely, the faster that is; cross-entropy has its turn twice as often.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.structure.cut import cut_structure
from planners.features.class_graph import ClassGraph
from planners.features.fast_devices import as_fast
from planners.post import Post, _Algorithm
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search


@dataclass(frozen=True)
class PostTuned(Post):
    """Fewer decisions, on parts of the graph, which begin where those are fast."""

    groups: int = 32
    """Groups; the more, the longer they take to learn. 0: ColocRL's."""
    period: int = 5
    """Every so many updates cross-entropy takes PPO's place."""
    head_start: float = 2.0
    """A group starts on a device with a probability in proportion to how fast that runs it, as far
    as its logit differs by no more than this from the devices' mean; 0: all alike, as in Post."""

    def __post_init__(self) -> None:
        """Refuse words and numbers that mean nothing (InputError)."""
        super().__post_init__()
        if not 0 <= self.head_start < np.inf:
            raise InputError(f"head_start is {self.head_start}; give >= 0")

    def place(self, problem: Problem, search: Search) -> Placement:
        """As :meth:`planners.post.Post.place`."""
        return _FromFast(self, problem, search).run()

    def grouping(self, graph: ClassGraph, rng: np.random.Generator) -> NDArray[np.int64]:
        """The group of each class, int64[classes]; NativeCrash when METIS fails."""
        if not self.groups:
            return super().grouping(graph, rng)
        return cut_structure(graph.problem, self.groups, rng)


class _FromFast(_Algorithm):
    """Algorithm 1, but for where the table starts."""

    def __init__(self, settings: PostTuned, problem: Problem, search: Search) -> None:
        """Start where groups are fast, or from the search's checkpoint."""
        super().__init__(settings, problem, search)
        if settings.head_start and self.update == 0:
            self.logits = as_fast(problem, self.grouping, settings.head_start)
