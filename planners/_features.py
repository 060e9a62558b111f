"""What the Grouper sees of an operation, and the Placer of a group (HDP, section 3.1)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planners._settings import Settings
from planners._units import Units

Matrix = NDArray[np.float32]


def op_features(units: Units, settings: Settings) -> Matrix:
    """Return output shapes and neighbours of every unit: float32[units, features].

    The type is not among them where it is an embedding (``settings.type_embedding``).
    """
    columns = [_shapes(units, settings.outputs, settings.dimensions)]
    if settings.neighbours == "breadth_first":
        position = units.breadth_first
        for side in (units.predecessors, units.successors):
            columns.append(_neighbours(position, *side, settings.adjacency // 2))
    else:
        columns.append(_signed_neighbours(units, settings.adjacency))
    if not settings.type_embedding:
        columns.insert(0, units.types[:, None].astype(np.float32))
    features = np.concatenate(columns, axis=1)
    return features if settings.op_scale == "raw" else _standard(features)


def _shapes(units: Units, outputs: int, dimensions: int) -> Matrix:
    """First dimensions of the first outputs, padded with -1."""
    table = np.full((units.count, outputs, dimensions), -1, np.float32)
    for unit, shapes in enumerate(units.shapes):
        for i, shape in enumerate(shapes[:outputs]):
            table[unit, i, : len(shape[:dimensions])] = shape[:dimensions]
    return table.reshape(units.count, -1)


def _neighbours(
    position: NDArray[np.int64], offsets: NDArray[np.int64], units: NDArray[np.int32], width: int
) -> Matrix:
    """Positions of the first ``width`` neighbours, padded with -1."""
    table = np.full((len(position), width), -1, np.float32)
    for unit, (start, end) in enumerate(pairwise(offsets)):
        near = np.sort(position[units[start:end]])[:width]
        table[unit, : len(near)] = near
    return table


def _signed_neighbours(units: Units, width: int) -> Matrix:
    """(unit, +1 reader or -1 producer) pairs in topological order, padded with 0."""
    table = np.zeros((units.count, width), np.float32)
    for unit in range(units.count):
        pairs: list[float] = []
        for (offsets, near), sign in ((units.predecessors, -1), (units.successors, 1)):
            for other in near[offsets[unit] : offsets[unit + 1]][: width // 2]:
                pairs += [other, sign]
        table[unit, : len(pairs[:width])] = pairs[:width]
    return table


def _standard(features: Matrix) -> Matrix:
    """Logarithms, each column with mean 0 and deviation 1."""
    logs = np.log1p(features + 1)
    spread = logs.std(axis=0)
    return np.asarray((logs - logs.mean(axis=0)) / np.where(spread > 0, spread, 1), np.float32)


class GroupFeatures:
    """The embedding of every group of a grouping."""

    def __init__(self, units: Units, settings: Settings, groups: int, types: int = 200) -> None:
        """Prepare what does not depend on the grouping; at most ``types`` types are told apart."""
        self.groups = groups
        self.settings = settings
        self._edges = units.edges
        self._kinds = np.minimum(units.types, types - 1)
        self._n_kinds = int(self._kinds.max()) + 1
        self._shapes = np.maximum(_shapes(units, settings.outputs, settings.dimensions), 0)
        nothing = np.zeros(0, np.int64)
        sizes = [part.shape[1] for part in self._edge_parts(nothing, nothing)]
        self.width = self._n_kinds + self._shapes.shape[1] + sum(sizes)

    def of(self, grouping: NDArray[np.int64]) -> Matrix:
        """Embed a grouping, int64[units]: float32[groups, width]."""
        near = self._edge_parts(grouping[self._edges[0]], grouping[self._edges[1]])
        counted = [self._type_counts(grouping), self._shape_sums(grouping)]
        scale = self.settings.group_scale
        if scale == "log":
            counted = [np.log1p(part) for part in counted]
        rows = np.concatenate([*counted, *near], axis=1)
        if scale == "row_max":
            rows /= rows.max(axis=1, keepdims=True) + 1
        return np.asarray(rows, np.float32)

    def _type_counts(self, grouping: NDArray[np.int64]) -> Matrix:
        keys = grouping * self._n_kinds + self._kinds
        counts = np.bincount(keys, minlength=self.groups * self._n_kinds)
        return counts.reshape(self.groups, self._n_kinds).astype(np.float32)

    def _shape_sums(self, grouping: NDArray[np.int64]) -> Matrix:
        sums = [np.bincount(grouping, column, self.groups) for column in self._shapes.T]
        return np.stack(sums, axis=1).astype(np.float32)

    def _edge_parts(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> list[Matrix]:
        """Adjacency to the other groups: 0/1, or edge counts to and from them."""
        keys = sources * self.groups + targets
        counts = np.bincount(keys, minlength=self.groups**2).reshape(self.groups, self.groups)
        if self.settings.group_edges == "counts":
            return [counts.astype(np.float32), counts.T.astype(np.float32)]
        touching = ((counts + counts.T) > 0).astype(np.float32)
        np.fill_diagonal(touching, 0)
        return [touching]
