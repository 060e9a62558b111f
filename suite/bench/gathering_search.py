"""A search that may be stopped at any time without loss of what was found."""

from __future__ import annotations

import numpy as np

from suite.core.arrays import Ints
from suite.core.scores import Scores
from suite.search.placer import Search


class GatheringSearch(Search):
    """A search that, stopped at any time, can tell what inner searches of its placer had found.

    A placer counts them when they have ended, which one that was interrupted has not.
    """

    def __post_init__(self) -> None:
        """None has begun."""
        super().__post_init__()
        self._under_way: list[GatheringSearch] = []
        self.one_by_one = False
        """Whether each placement of a batch is remembered as soon as it is judged: where that takes
        seconds, a batch that is not judged to its end is not to be lost either."""

    def inner(self, seed: int, evaluations: float) -> Search:
        """As that of every search."""
        plain = super().inner(seed, evaluations)
        limits = plain.max_evaluations, plain.max_seconds
        made = GatheringSearch(plain.problem, plain.judge, plain.seed, *limits)
        made.one_by_one = self.one_by_one
        self._under_way.append(made)
        return made

    def count(self, inner: Search) -> None:
        """As that of every search."""
        super().count(inner)
        self._under_way = [one for one in self._under_way if one is not inner]

    def _judged(self, devices: Ints, within: float) -> Scores:
        if not self.one_by_one or len(devices) < 2:
            return super()._judged(devices, within)
        known: list[Scores] = []
        try:
            for row in devices:
                known.append(super()._judged(row[None], within))
        except BaseException:
            if known:
                self._remember(devices[: len(known)], _joined(known))
            raise
        return _joined(known)

    def gather(self) -> None:
        """Count all that have not been counted; for a search that has been stopped."""
        for one in self._under_way:
            one.gather()
            self.count(one)


def _joined(parts: list[Scores]) -> Scores:
    """Those of batches, one after another, as those of one batch."""
    return Scores(
        np.concatenate([one.step_time for one in parts]),
        np.concatenate([one.oom for one in parts]),
        np.concatenate([one.peak_memory for one in parts]),
    )
