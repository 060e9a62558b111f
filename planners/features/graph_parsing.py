"""Graph parsing (Song et al., Graph Parsing Networks, ICLR 2024): groups from scored edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planners.features.coarse_graph import Numbers, components
from suite.core.arrays import Floats, Ints


def parse(count: int, sources: Ints, targets: Ints, logits: Floats) -> tuple[int, Numbers]:
    """Graph parsing: every node keeps its best edge, whichever way it goes; what that joins.

    Logits are compared rather than their sigmoids, which are equal where they saturate; of equal
    edges the first is kept. Edges and logits are [edges]. Returns the number of groups and the
    group of each node, int64[count].
    """
    ends = np.concatenate([sources, targets])
    edge = np.tile(np.arange(len(sources)), 2)
    order = np.lexsort((edge, -np.tile(logits, 2), ends))
    _, first = np.unique(ends[order], return_index=True)
    kept = edge[order][first]
    return components(count, sources[kept], targets[kept])


@dataclass(frozen=True, eq=False)
class Level:
    """One parsing: the edges that were scored, and the groups that followed."""

    sources: Numbers
    targets: Numbers
    groups: Numbers
    """int64[nodes of this level]."""
    edges: Sequence[int]
    counts: Sequence[int]
    """Edges and groups of each of the steps that stand side by side here."""

    @classmethod
    def of(cls, count: int, sources: Numbers, targets: Numbers, logits: Floats) -> Level:
        """Parse the groups of one step."""
        groups, of_node = parse(count, sources, targets, logits)
        return cls(sources, targets, of_node, (len(sources),), (groups,))

    @classmethod
    def side_by_side(cls, levels: Sequence[Level]) -> Level:
        """Parsings of several steps as one, of a graph that has several parts."""
        nodes = np.cumsum([0, *(len(level.groups) for level in levels)])
        groups = np.cumsum([0, *(level.counts[0] for level in levels)])
        return cls(
            np.concatenate([level.sources + n for level, n in zip(levels, nodes, strict=False)]),
            np.concatenate([level.targets + n for level, n in zip(levels, nodes, strict=False)]),
            np.concatenate([level.groups + n for level, n in zip(levels, groups, strict=False)]),
            [level.edges[0] for level in levels],
            [level.counts[0] for level in levels],
        )

    @property
    def arrays(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """Sources, targets, groups, and how many groups there are in all, int64[]."""
        return self.sources, self.targets, self.groups, np.array(sum(self.counts), np.int64)

    def above(self) -> tuple[Numbers, Numbers]:
        """The edges between groups, each once."""
        ends = np.sort([self.groups[self.sources], self.groups[self.targets]], axis=0)
        pairs = np.unique(ends[:, ends[0] != ends[1]], axis=1)
        return pairs[0], pairs[1]
