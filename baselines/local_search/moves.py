"""Neighbours of a placement: groups of classes, of many sizes and kinds, that move together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.critical_chain import Chain
from baselines.local_search.fitting import Fitting
from baselines.local_search.patterns import Move, Patterns
from baselines.local_search.settling import Settling
from baselines.partitioning.parts import parts
from suite.core.arrays import Ints
from suite.core.problem import Problem

Devices = NDArray[np.int64]

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)
"""Numbers of METIS' parts that may move as one, beside single classes."""
BY_TYPE = (1, 8, 16, 32, 64, 128)
"""Numbers of parts whose operations of one type may move as one: all weight gradients of a block,
say, which no partition into neighbours has together."""
ATTEMPTS = 8
"""Changes drawn at most for one that is none of those known: one in five leaves all as it is."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """A partition of the classes."""

    group_of: Devices
    """int64[n_classes]."""
    members: Devices
    """int64[n_classes]: classes, group by group."""
    offsets: Devices
    """int64[groups + 1]: where each group's members begin."""

    @classmethod
    def of(cls, keys: Devices) -> Grouping:
        """Put classes with the same key, int64[n_classes], into one group."""
        group_of = np.unique(keys, return_inverse=True)[1]
        offsets = np.concatenate([[0], np.cumsum(np.bincount(group_of))])
        return cls(group_of, np.argsort(group_of, kind="stable"), offsets)

    def companions(self, member: int) -> Devices:
        """All classes in the group of this one."""
        group = self.group_of[member]
        return self.members[self.offsets[group] : self.offsets[group + 1]]


class Moves:
    """The groups and patterns of one problem, and how class devices become placements."""

    def __init__(
        self,
        problem: Problem,
        groupings: list[Grouping],
        settling: Settling,
        patterns: Patterns | None = None,
        patterned: float = 0.0,
        crossed: float = 0.0,
        settled: float = 0.0,
    ) -> None:
        """Prepare the moves of these groupings.

        A share ``patterned`` is of these patterns; a share ``crossed`` takes over from others.
        After a share ``settled`` of the changes light operations follow.
        """
        self.problem, self.groupings = problem, groupings
        self._crossed = crossed
        self._settling, self._settled = settling, settled
        self._patterns, self._patterned = patterns, patterned
        self.fitted = Fitting(problem).fitted
        self._devices = problem.machine.n_devices
        # Odd numbers, so that no class counts for nothing; overflow does no harm.
        some = np.random.default_rng(0).integers(2**62, size=problem.graph.n_classes)
        self._weights = 2 * some + 1

    @classmethod
    def of(
        cls,
        problem: Problem,
        rng: np.random.Generator,
        settling: Settling,
        patterns: Patterns | None = None,
        patterned: float = 0.0,
        crossed: float = 0.0,
        settled: float = 0.0,
    ) -> Moves:
        """Group by locality and by type, coarse to fine. NativeCrash when METIS fails."""
        classes = problem.graph.n_classes
        sizes = [size for size in sorted({*SIZES, *BY_TYPE} - {1}) if size < classes]
        cut = dict(zip(sizes, parts(problem, sizes, rng), strict=True))
        cut[1] = np.zeros(classes, np.int64)
        kinds = _main_types(problem)
        typed = [cut[n] * (int(kinds.max()) + 1) + kinds for n in BY_TYPE if n in cut]
        local = [cut[n] for n in SIZES if n in cut]
        groupings = [Grouping.of(keys) for keys in (*local, np.arange(classes), *typed)]
        return cls(problem, groupings, settling, patterns, patterned, crossed, settled)

    def random(self, rng: np.random.Generator) -> Devices:
        """Put every part of a coarse grouping on a device at random: int64[n_classes]."""
        group_of = self.groupings[rng.integers(min(3, len(self.groupings)))].group_of
        devices = rng.integers(0, self._devices, int(group_of.max()) + 1)
        return np.asarray(devices[group_of], np.int64)

    def neighbours(
        self,
        current: Devices,
        count: int,
        guided: float,
        chain: Chain,
        others: Devices,
        known: set[int],
        rng: np.random.Generator,
    ) -> Devices:
        """Draw ``count`` changes of ``current``, int64[count, n_classes].

        A share ``guided`` of the moves shortens a link of the critical chain. Parts may be taken
        over from the placements ``others``, int64[n, n_classes]. What is ``known``, by its
        :meth:`name`, is drawn again if need be; what is returned becomes known.
        """
        drawn = np.empty((count, len(current)), np.int64)
        for row in drawn:
            for _ in range(ATTEMPTS):
                row[:] = current
                self._change(row, guided, chain, others, rng)
                name = self.name(row)
                if name not in known:
                    break
            known.add(name)
        return drawn

    def name(self, row: Devices) -> int:
        """A number by which placements, int64[n_classes], are told apart."""
        return int(row @ self._weights)

    def _change(
        self, row: Devices, guided: float, chain: Chain, others: Devices, rng: np.random.Generator
    ) -> None:
        """Make one move or two; light operations may follow."""
        before = row.copy()
        for _ in range(1 if rng.random() < 0.7 else 2):
            self._move(row, guided, chain, others, rng)
        if rng.random() < self._settled:
            row[:] = self._settling.settled(row, np.flatnonzero(row != before))

    def _move(
        self,
        row: Devices,
        guided: float,
        chain: Chain,
        others: Devices,
        rng: np.random.Generator,
    ) -> None:
        """Put a class and its companions elsewhere, or where another placement has them."""
        if len(chain.earlier) and rng.random() < guided:
            move = self._along(row, chain, rng)
        else:
            member = int(rng.integers(len(row)))
            move = Move(member, self._elsewhere(int(row[member]), rng), None)
        patterns = self._patterns
        if patterns is not None and rng.random() >= self._patterned:
            patterns = None
        if len(others) and rng.random() < self._crossed:
            other = others[rng.integers(len(others))]
            part = patterns.part(move.member, rng) if patterns else self._group(move.member, rng)
            row[part] = other[part]
        elif patterns is not None:
            patterns.apply(row, move, rng)
        else:
            group = self._group(move.member, rng)
            if rng.random() < 0.8:
                group = group[row[group] == row[move.member]]
            row[group] = move.target

    def _group(self, member: int, rng: np.random.Generator) -> Devices:
        """The companions of a class in a grouping that is drawn."""
        return self.groupings[rng.integers(len(self.groupings))].companions(member)

    def _along(self, row: Devices, chain: Chain, rng: np.random.Generator) -> Move:
        """Join the ends of a transfer, or send one of two that share a device elsewhere."""
        first, second, crosses = chain.draw(rng)
        if rng.random() < 0.5:
            first, second = second, first
        if crosses:
            return Move(first, int(row[second]), second)
        return Move(first, self._elsewhere(int(row[first]), rng), None)

    def _elsewhere(self, device: int, rng: np.random.Generator) -> int:
        return int((device + 1 + rng.integers(self._devices - 1)) % self._devices)

    def placed(self, classes: Ints) -> NDArray[np.int32]:
        """Operation devices, int32[batch, ops], of class devices int64[batch, n_classes]."""
        fitted = self.fitted(classes).astype(np.int32)
        return np.take(fitted, self.problem.graph.colocation, axis=1)


def _main_types(problem: Problem) -> Devices:
    """int64[n_classes]: the type of the operation that takes longest in each class."""
    graph = problem.graph
    kinds = np.unique(np.array(graph.op_types), return_inverse=True)[1]
    seconds = problem.seconds.max(axis=1, where=np.isfinite(problem.seconds), initial=0)
    order = np.lexsort((-seconds, graph.colocation))
    firsts = np.unique(graph.colocation[order], return_index=True)[1]
    return np.asarray(kinds[order][firsts], np.int64)
