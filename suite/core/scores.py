"""What a judge says of a batch of placements, and what a judge is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Scores:
    """The judge's verdicts on a batch of placements."""

    step_time: Floats
    """float64[batch]: seconds; infinite where the step was broken off at its deadline."""
    oom: Bools
    """bool[batch]: whether any device runs out of memory; False where broken off: unknown."""
    peak_memory: NDArray[np.int64]
    """int64[batch, devices]: bytes; -1: unknown, where the step was broken off, and where a judge
    that was given a deadline knows that it fits."""

    @property
    def timed_out(self) -> Bools:
        """bool[batch]: whether the step was broken off, since it takes longer than its deadline."""
        return np.isinf(self.step_time)


class Judge(Protocol):
    """Scores placements: the simulator, or real execution."""

    def __call__(self, devices: Ints) -> Scores:
        """Score ``devices``, int32[batch, ops]."""
        ...


@runtime_checkable
class ImpatientJudge(Judge, Protocol):
    """A judge that need not finish what takes too long."""

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Score ``devices``, int32[batch, ops]; may break off those slower than float64[batch]."""
        ...
