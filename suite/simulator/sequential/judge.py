"""The judge of the semantics ``hetero``, with the interface of the event simulation's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.simulator.result import StepResult
from suite.simulator.rows import device_row, device_rows
from suite.simulator.semantics import HETERO, Semantics
from suite.simulator.sequential.kernel import flatten, simulate, workspace


class SequentialSimulator:
    """Judge of placements of one problem (a :class:`suite.core.scores.ImpatientJudge`)."""

    def __init__(self, problem: Problem, policy: str | None = None) -> None:
        """Prepare the arrays; InputError for a ``policy``: there is nothing to choose from."""
        if policy is not None:
            raise InputError(f"semantics {HETERO.name} has no policy {policy!r}; leave it out")
        self.problem = problem
        self.semantics: Semantics = HETERO
        self._flat, self._work = flatten(problem), workspace(problem)

    def run(self, devices: Placement | Ints) -> StepResult:
        """Simulate one placement, int[ops]."""
        row = device_row(self.problem, devices)
        total = int(simulate(self._flat, self._work, row))
        busy, peak, moved = (a.copy() for a in (self._work.busy, self._work.peak, self._work.moved))
        return StepResult(total, busy, peak, moved, HETERO.full(peak, self.problem.machine.memory))

    def __call__(self, devices: Sequence[Placement] | Ints) -> Scores:
        """Simulate a batch, int[batch, ops]."""
        results = [self.run(row) for row in device_rows(self.problem, devices)]
        peaks = np.array([result.peak_memory for result in results], np.int64)
        peaks = peaks.reshape(len(results), self.problem.machine.n_devices)
        times = np.array([result.step_time for result in results], np.float64)
        oom = np.array([result.oom.any() for result in results], np.bool_)
        return Scores(times, oom, peaks)

    def within(self, devices: Sequence[Placement] | Ints, seconds: Floats) -> Scores:
        """Simulate a batch; none is broken off, since a step takes no longer to add up."""
        return self(devices)
