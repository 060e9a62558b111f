"""The best answers of a search, run for real before one of them is the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from suite.bench.cell import MeasureTop
from suite.bench.record import Record
from suite.core.arrays import Ints
from suite.core.placement import Placement
from suite.execution.contest import TIMING, Contest, contest
from suite.execution.measurement import Backend, Step, Timing
from suite.search.best_answers import Candidate


@dataclass(frozen=True, eq=False)
class Measured:
    """Candidates and what running them gave."""

    candidates: tuple[Candidate, ...]
    contest: Contest

    @property
    def chosen(self) -> int:
        """The one that is the answer: the fastest; where none ran, the first."""
        return self.contest.fastest or 0

    @property
    def placement(self) -> Placement:
        """The answer."""
        return self.candidates[self.chosen].placement

    def as_record(self) -> Record:
        """All of it but the placements, for a record."""
        answers = [
            {
                "placement_hash": candidate.placement.hash,
                "score": candidate.score,
                "status": entry.status,
                "reason": entry.reason,
                "step_times": [list(times) for times in entry.step_times],
                "relative": list(entry.relative),
            }
            for candidate, entry in zip(self.candidates, self.contest.entries, strict=True)
        ]
        return {
            "chosen": self.chosen,
            "ties": list(self.contest.ties),
            "runs": self.contest.runs,
            "seconds": round(self.contest.seconds, 3),
            "answers": answers,
        }


def timing_within(timeout: float | None) -> Timing:
    """How runs before an answer are timed, their steps in ``timeout`` seconds; None: as usual."""
    return TIMING if timeout is None else replace(TIMING, timeout=timeout)


def measure(
    candidates: Sequence[Candidate],
    backend: Backend,
    step: Step,
    settings: MeasureTop,
    timeout: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Measured:
    """Run candidates for real, each ``settings.rounds`` times.

    ``timeout`` is that of the steps of one run, in seconds. InputError as
    :meth:`Backend.measure` raises it.
    """
    devices: list[Ints] = [np.asarray(one.placement.devices) for one in candidates]
    found = contest(backend, step, devices, settings.rounds, timing_within(timeout), tell)
    return Measured(tuple(candidates), found)
