"""A judge that does not trust one machine: the mean or the worst step time over several.

A search finds the placements of which its judge is too fond. What is fast on one machine alone, the
measured one, is not what is fast on a host that this machine describes within some per cent; a
placement that is fast on several machines drawn from that uncertainty is more likely to be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.core.uncertainty import Judging, Spread
from suite.search.drawn_machines import drawn
from suite.simulator.judges import AnySimulator, make_simulator
from suite.simulator.semantics import PLACEBENCH, Semantics


class RobustJudge:
    """Judges placements of one problem (a :class:`suite.core.scores.ImpatientJudge`).

    Out of memory is what is so on any of the machines; the peak is the highest of all, or of those
    that were counted where there was a deadline (``Scores.peak_memory``).
    """

    def __init__(
        self,
        problem: Problem,
        spread: Spread,
        settings: Judging,
        semantics: Semantics = PLACEBENCH,
    ) -> None:
        """Draw the machines; InputError where the spread does not say all that is needed."""
        self.settings = settings
        numbers = range(settings.machines)
        self.simulators: Sequence[AnySimulator] = [
            make_simulator(drawn(problem, spread, number, settings.seed), semantics)
            for number in numbers
        ]

    def __call__(self, devices: Ints) -> Scores:
        """Score ``devices``, int32[batch, ops], on every machine."""
        return self.within(devices, np.full(len(devices), np.inf))

    def within(self, devices: Ints, seconds: Floats) -> Scores:
        """Score ``devices``, int32[batch, ops].

        Those that score more than float64[batch] seconds are broken off as soon as that is certain.
        """
        rows, n_devices = len(devices), self.simulators[0].problem.machine.n_devices
        worst = self.settings.score == "worst"
        total, oom = np.zeros(rows), np.zeros(rows, np.bool_)
        # Where a deadline is met and all fits, a simulator may leave them unknown.
        peaks = np.full((rows, n_devices), -1, np.int64)
        left = np.arange(rows)
        for simulator in self.simulators:
            if not len(left):
                break
            part = self._scores(simulator, devices[left], self._limits(total, seconds)[left])
            went_on = ~part.timed_out
            total[left[~went_on]] = np.inf
            left = left[went_on]
            times = part.step_time[went_on]
            total[left] = np.maximum(total[left], times) if worst else total[left] + times
            oom[left] |= part.oom[went_on]
            peaks[left] = np.maximum(peaks[left], part.peak_memory[went_on])
        score = total if worst else total / len(self.simulators)
        score[score > seconds] = np.inf
        broken = np.isinf(score)
        oom[broken], peaks[broken] = False, -1
        return Scores(score, oom, peaks)

    def _limits(self, total: Floats, seconds: Floats) -> Floats:
        """float64[batch]: seconds that the next machine's step may take."""
        if self.settings.score == "worst":
            return seconds
        # A sum may round away from the mean's limit: a nanosecond more breaks off nothing too many.
        return np.asarray(seconds * len(self.simulators) - total + 1e-9, np.float64)

    @staticmethod
    def _scores(simulator: AnySimulator, devices: Ints, limits: Floats) -> Scores:
        if np.isinf(limits).all():
            return simulator(devices)
        return simulator.within(devices, limits)
