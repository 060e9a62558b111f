"""Steps of an episode in which each sees another graph of groups, and several of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from planners.features.coarse_graph import Numbers
from planners.features.graph_parsing import Level
from planners.features.tables import Matrix
from planners.nn.backend import tf
from planners.nn.dropout import Masks, side_by_side
from planners.nn.tensor import Tensor
from suite.core.arrays import Floats


@dataclass(frozen=True, eq=False)
class View:
    """What one step of an episode sees, and how it groups the nodes."""

    state: Matrix
    """float32[nodes, hidden]: what was carried over from the steps before."""
    masks: Masks
    """Of the dropout."""
    levels: list[Level]
    of_node: Numbers
    """int64[nodes]: the group of each."""
    pooled: Matrix
    """float32[groups, hidden]."""
    chances: Floats
    """float64[groups, devices]."""
    drawn: list[tuple[int, Numbers]] = field(default_factory=list)
    """Steps that were drawn from it, and their devices, int64[groups]."""

    def factors(self, weights: Floats) -> Floats:
        """How far to follow each log-probability, by the weights of all steps, float64[steps].

        Returns float64[groups, devices].
        """
        followed = np.zeros_like(self.chances)
        for step, chosen in self.drawn:
            followed[np.arange(len(chosen)), chosen] += weights[step]
        return followed


class Dropped(NamedTuple):
    """Numbers of the layers whose inputs are dropped: by nodes, edges and groups."""

    nodes: Sequence[int]
    edges: Sequence[int]
    groups: Sequence[int]


class Part(NamedTuple):
    """Views that are learned from together, as the parts of one graph. Masks are by layer."""

    states: Tensor
    near: Tensor
    node_masks: Sequence[Tensor]
    levels: Sequence[Sequence[Tensor]]
    """Of each the arrays of its Level."""
    edge_masks: Sequence[Sequence[Tensor]]
    group_masks: Sequence[Tensor]
    factors: Tensor
    """float32[groups, devices]: how far to follow each log-probability."""


def parts(
    views: Sequence[View],
    factors: Sequence[Floats],
    near: Callable[[int], Tensor],
    dropped: Dropped,
    most: int,
) -> Iterator[Part]:
    """Put views with as many levels side by side, at most so many.

    ``factors``, float64[groups, devices] for each view: how far to follow each log-probability;
    ``near(n)``: the adjacency of the graph, n times.
    """
    for some in _alike(views, most):
        chosen = [views[i] for i in some]
        masks = [view.masks for view in chosen]
        levels = [
            Level.side_by_side(levels)
            for levels in zip(*(view.levels for view in chosen), strict=True)
        ]
        groups = [len(view.chances) for view in chosen]
        arrays = (
            np.concatenate([view.state for view in chosen]),
            near(len(some)),
            side_by_side(masks, dropped.nodes, [len(view.state) for view in chosen]),
            [level.arrays for level in levels],
            [side_by_side(masks, dropped.edges, level.edges) for level in levels],
            side_by_side(masks, dropped.groups, groups),
            np.concatenate([factors[i] for i in some]).astype(np.float32),
        )
        # Converted once, since several gradients are taken.
        yield Part(*tf.nest.map_structure(tf.convert_to_tensor, arrays, expand_composites=True))


def _alike(views: Sequence[View], most: int) -> Iterator[list[int]]:
    """Numbers of views with as many levels, at most so many together."""
    by_levels: dict[int, list[int]] = {}
    for i, view in enumerate(views):
        by_levels.setdefault(len(view.levels), []).append(i)
    for same in by_levels.values():
        yield from (same[start : start + most] for start in range(0, len(same), most))
