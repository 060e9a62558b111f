"""How far two orders of the same things agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt


@dataclass(frozen=True)
class Agreement:
    """Two orders, pair by pair."""

    tau: float
    """Kendall's tau-b (Kendall 1945): 1 the same order, -1 reversed; NaN if either is all ties."""
    pairs: int
    """Pairs that both orders decide."""
    reversed: int
    """Pairs that the two decide differently."""

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Agreement:
        """Compare two sequences of equal length by value; equal values are ties."""
        both, concordance, decided = 0, 0, [0, 0]
        for i in range(len(ours)):
            for j in range(i):
                a = (ours[i] > ours[j]) - (ours[i] < ours[j])
                b = (theirs[i] > theirs[j]) - (theirs[i] < theirs[j])
                both += abs(a * b)
                concordance += a * b
                decided = [decided[0] + abs(a), decided[1] + abs(b)]
        scale = sqrt(decided[0] * decided[1])
        return cls(concordance / scale if scale else nan, both, (both - concordance) // 2)
