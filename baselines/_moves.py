"""Neighbourhoods of a placement: groups of classes that move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.arrays import Ints
from suite.problem import Problem

Devices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Level:
    """A partition of the classes into groups that are each on one device."""

    group_of: Devices
    """int64[n_classes]."""
    start: Devices
    """int64[groups]: where the groups are now."""
    borders: tuple[Devices, Devices]
    """Both groups of every pair that exchanges tensors, int64[pairs] each."""
    devices: int

    def neighbours(self, current: Devices, count: int, rng: np.random.Generator) -> Devices:
        """Draw ``count`` changes of ``current``, int64[count, groups]."""
        drawn = np.repeat(current[None], count, axis=0)
        for row in drawn:
            if rng.random() < 0.5 and len(self.borders[0]):
                self._join(row, rng)
            else:
                self._scatter(row, rng)
        return drawn

    def _join(self, row: Devices, rng: np.random.Generator) -> None:
        """Move a group to the device of one that it exchanges tensors with."""
        source, target = self.borders
        apart = np.flatnonzero(row[source] != row[target])
        if len(apart):
            pair = rng.choice(apart)
            ends = source[pair], target[pair]
            moved, stays = ends if rng.random() < 0.5 else ends[::-1]
            row[moved] = row[stays]

    def _scatter(self, row: Devices, rng: np.random.Generator) -> None:
        """Move one, two or four groups anywhere, together."""
        size = min(len(row), int(rng.choice([1, 1, 2, 4])))
        row[rng.integers(0, len(row), size)] = rng.integers(0, self.devices)


class Moves:
    """Levels of one problem, and how class devices become placements."""

    def __init__(self, problem: Problem) -> None:
        """Look up who exchanges tensors with whom."""
        self.problem = problem
        graph = problem.graph
        tensors, consumers = graph.edges
        source, target = graph.colocation[graph.producer[tensors]], graph.colocation[consumers]
        pairs = np.unique(np.stack([source, target])[:, source != target], axis=1)
        self._source, self._target = pairs.astype(np.int64)
        self._fallback = np.argmax(problem.allowed, axis=1)

    def random(self, groups: Devices, rng: np.random.Generator) -> Devices:
        """Put every group (int64[n_classes]) on a device at random: int64[n_classes]."""
        devices = rng.integers(0, self.problem.machine.n_devices, int(groups.max()) + 1)
        return np.asarray(devices[groups], np.int64)

    def level(self, groups: Devices, classes: Devices) -> Level:
        """Cut ``groups`` where their classes are on several devices now."""
        count = self.problem.machine.n_devices
        keys, group_of = np.unique(groups * count + classes, return_inverse=True)
        ends = np.stack([group_of[self._source], group_of[self._target]])
        source, target = np.unique(ends[:, ends[0] != ends[1]], axis=1)
        return Level(group_of, keys % count, (source, target), count)

    def fitted(self, classes: Ints) -> Ints:
        """Send classes to the CPU where their device cannot run them: int64[..., n_classes]."""
        fits = self.problem.allowed[np.arange(len(self._fallback)), classes]
        return np.where(fits, classes, self._fallback)

    def placed(self, classes: Ints) -> NDArray[np.int32]:
        """Operation devices, int32[batch, ops], of class devices int64[batch, n_classes]."""
        fitted = self.fitted(classes)[:, self.problem.graph.colocation]
        return np.asarray(fitted, np.int32)
