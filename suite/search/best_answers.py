"""The best different placements that a search has judged, not only the best one.

They are kept by the judge that a search is given, so that no placer need know of it, and what a
placer's inner searches evaluate counts as well.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import ImpatientJudge, Judge, Scores
from suite.search.checkpoint import Arrays


@dataclass
class BestAnswers:
    """At most ``count`` placements on one machine, the fastest first, that fit in memory."""

    machine: Machine
    count: int
    apart: float = 0.0
    """Share of the operations by which two of them must differ (:func:`difference`); 0: by any."""
    times: list[float] = field(default_factory=list)
    """Step time of each in seconds, as the judge scored it; ascending."""
    placements: list[NDArray[np.int32]] = field(default_factory=list)
    """int32[ops] each."""

    def __post_init__(self) -> None:
        """Refuse what keeps nothing (InputError)."""
        if self.count < 1 or not 0 <= self.apart < 1:
            raise InputError(
                f"best answers: count is {self.count}, apart {self.apart}; give >= 1 and a share"
                " from 0 to below 1"
            )

    @property
    def limit(self) -> float:
        """Seconds below which a step must stay to be kept; infinite while there is room."""
        return self.times[-1] if len(self.times) == self.count else math.inf

    def add(self, devices: Ints, scores: Scores) -> None:
        """Keep those of ``devices``, int[batch, ops], that are among the best so far.

        One that is too near to a faster one that is kept, or to an equally fast earlier one, is
        not kept; of slower ones that are too near it takes the place.
        """
        times = np.where(scores.oom, math.inf, scores.step_time)
        for row in np.flatnonzero(times < self.limit):
            self._add(np.array(devices[row], np.int32), float(times[row]))

    def _add(self, devices: NDArray[np.int32], seconds: float) -> None:
        if not seconds < self.limit:  # it has fallen since the batch was looked through
            return
        near = [self._near(devices, other) for other in self.placements]
        if any(one and t <= seconds for one, t in zip(near, self.times, strict=True)):
            return
        far = [i for i, one in enumerate(near) if not one]
        at = sum(self.times[i] <= seconds for i in far)
        times, placements = [self.times[i] for i in far], [self.placements[i] for i in far]
        self.times = [*times[:at], seconds, *times[at:]][: self.count]
        self.placements = [*placements[:at], devices, *placements[at:]][: self.count]

    def _near(self, one: Ints, other: Ints) -> bool:
        if np.array_equal(one, other):
            return True
        return self.apart > 0 and difference(one, other, self.machine) < self.apart

    def arrays(self) -> Arrays:
        """What is kept, for a checkpoint."""
        shape = (len(self.placements), -1) if self.placements else (0, 0)
        rows = np.array(self.placements, np.int32).reshape(shape)
        return {"times": np.array(self.times), "placements": rows}

    def take(self, arrays: Arrays) -> None:
        """Go on from what :meth:`arrays` gave."""
        self.times = np.asarray(arrays["times"], np.float64).tolist()
        self.placements = list(np.asarray(arrays["placements"], np.int32))


def difference(one: Ints, other: Ints, machine: Machine) -> float:
    """Share of the operations that are elsewhere in the other of two placements, int[ops] each.

    Devices of one kind are renamed for that as fits best: a placement and its mirror image differ
    little, however many operations are on a device of another name.
    """
    count = machine.n_devices
    cells = np.asarray(one, np.int64) * count + other
    both = np.bincount(cells, minlength=count * count).reshape(count, count)
    kinds = np.array([device.kind for device in machine.devices])
    allowed = kinds[:, None] == kinds[None, :]
    rows, columns = linear_sum_assignment(np.where(allowed, both, -len(one) - 1), maximize=True)
    return 1.0 - float(both[rows, columns].sum()) / max(1, len(one))


@dataclass(frozen=True, eq=False)
class Candidate:
    """A placement that may be the answer."""

    placement: Placement
    score: float | None
    """Seconds, as the search's judge scored it; None: the search had it not judged."""


def candidates(problem: Problem, answer: Placement, best: BestAnswers) -> tuple[Candidate, ...]:
    """What a search found best, the placer's own ``answer`` first.

    Where that is not among the best, as where nothing was judged, it takes the place of the last.
    """
    found = [
        Candidate(Placement.of(problem, devices), seconds)
        for devices, seconds in zip(best.placements, best.times, strict=True)
    ]
    own = [one for one in found if one.placement.hash == answer.hash]
    others = [one for one in found if one.placement.hash != answer.hash]
    return (own or [Candidate(answer, None)])[0], *others[: best.count - 1]


class Remembering:
    """A judge that tells what another one says, and keeps the best of it.

    Where that one can break off slow steps, it lets it go on up to the slowest that is kept, and
    hands on what a search asked for: the search finds what it would have found without.
    """

    def __init__(self, judge: Judge, best: BestAnswers) -> None:
        """Remember what ``judge`` says in ``best``."""
        self.judge, self.best = judge, best
        # A placer may run others side by side, each with a search of its own.
        self._lock = threading.Lock()

    def __call__(self, devices: Ints) -> Scores:
        """Score ``devices``, int32[batch, ops]."""
        scores = self.judge(devices)
        with self._lock:
            self.best.add(devices, scores)
        return scores

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Score ``devices``; those slower than float64[batch] ``seconds`` come as broken off."""
        if not isinstance(self.judge, ImpatientJudge):
            return self(devices)
        asked = np.asarray(seconds, np.float64)
        scores = self.judge.within(devices, np.maximum(asked, self.best.limit))
        with self._lock:
            self.best.add(devices, scores)
        late = scores.step_time > asked
        peaks = np.where(late[:, None], -1, scores.peak_memory)
        times = np.where(late, np.inf, scores.step_time)
        return Scores(times, scores.oom & ~late, np.asarray(peaks, np.int64))
