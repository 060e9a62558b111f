"""Repeated measurements of the same things, and how far they agree."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

ROUNDS = 3
"""How often everything is measured, one round after another: a host that others disturb does so for
seconds to minutes, which then spoils one round of each thing, not all of one thing."""
ALLOWED, ALLOWED_BESIDE_GPUS = 0.1, 0.2
"""By how much rounds may differ, in the median, on a host that is quiet enough; and where the time
is that of launching what GPUs run. On virtual machines with 16 cores and an H100 or H200 the
fastest three rounds differed by 12 to 14 %."""

EXTREMES = (0, ROUNDS - 1)
"""The ranks of the fastest and of the slowest of the rounds that count, for :meth:`Samples.ranked`:
by what these are off, the figures may be."""

Key = tuple[str | int, ...]
"""What was measured: of which device or devices, of which size."""


class Samples:
    """Seconds by what was measured, one number a round."""

    def __init__(self, forced: bool = False) -> None:
        """``forced``: figures are to be made of them, however little sense they make."""
        self.forced = forced
        self._seconds: dict[Key, list[float]] = defaultdict(list)

    def add(self, key: Key, seconds: float) -> None:
        """Add the number of one more round."""
        self._seconds[key].append(seconds)

    def typical(self, *key: str | int) -> float:
        """The median of the :data:`ROUNDS` fastest rounds, in seconds.

        Slower ones were disturbed. The fastest alone would be what a step hardly ever takes: the
        steps to come run on this host as it mostly is.
        """
        return float(np.median(sorted(self._seconds[key])[:ROUNDS]))

    def ranked(self, rank: int) -> Samples:
        """One number of each thing: that of its fastest round but ``rank`` (0: its fastest)."""
        found = Samples(self.forced)
        for key, rounds in self._seconds.items():
            found.add(key, sorted(rounds)[min(rank, len(rounds) - 1)])
        return found

    @property
    def disagreement(self) -> float:
        """By how much the fastest rounds differ, as a share of the fastest: 0.1 is 10 %.

        Of each thing the :data:`ROUNDS` fastest rounds count, so that more rounds make up for
        disturbed ones; of all things the median. NaN after one round: nothing tells.
        """
        if all(len(rounds) == 1 for rounds in self._seconds.values()):
            return np.nan
        best = [sorted(rounds)[:ROUNDS] for rounds in self._seconds.values()]
        return float(np.median([rounds[-1] / rounds[0] - 1 for rounds in best])) if best else 0.0
