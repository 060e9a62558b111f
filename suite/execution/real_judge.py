"""A judge that runs every placement for real, as the papers' planners were judged.

HDP (section 4.1) had each placement that it sampled run on the machine, for ten steps of which the
first five did not count, and took the median of the others, as is done here; ColocRL took the mean
of all but the first. A search so judged is not misled by a profile that is wrong, but needs seconds
for an evaluation where a simulation takes milliseconds.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict
from statistics import median
from typing import Any

import numpy as np

from suite.core.arrays import Ints, digest
from suite.core.errors import InputError
from suite.core.scores import Scores
from suite.execution.contest import TIMING
from suite.execution.measurement import Backend, Step, Timing
from suite.search.checkpoint import Arrays
from suite.simulator.judges import AnySimulator

FAILING = 10.0
"""A placement that does not run counts as so many times its simulated step time, for searches that
heed no more than times; those that heed memory are told that it does not fit."""
PATIENCE = 5
"""Runs that may fail, otherwise than by memory, before any has succeeded."""


class RealJudge:
    """Judges placements of one problem (a :class:`suite.core.scores.Judge`), one after another.

    A step time is the median of the steps that count, noise and all. The peaks of memory are the
    simulator's, since most backends cannot tell them.
    """

    def __init__(
        self, simulator: AnySimulator, backend: Backend, step: Step, timing: Timing = TIMING
    ) -> None:
        """Run ``step`` on ``backend``, which stays the caller's to close."""
        self.simulator, self.backend, self.step, self.timing = simulator, backend, step, timing
        self._seconds = 0.0
        self._statuses: Counter[str] = Counter()
        self._reasons: dict[str, str] = {}
        # A placer may run others side by side, each with a search of its own.
        self._lock = threading.Lock()
        self._times: defaultdict[str, list[float]] = defaultdict(list)

    def __call__(self, devices: Ints) -> Scores:
        """Run ``devices``, int32[batch, ops].

        Raises InputError as :meth:`Backend.measure` does, and where nothing runs at all.
        """
        simulated = self.simulator(devices)
        times = np.array(simulated.step_time)
        oom = np.zeros(len(devices), np.bool_)
        for i, row in enumerate(devices):
            with self._lock:
                seconds = self._run(row)
            oom[i] = seconds is None
            times[i] = FAILING * times[i] if seconds is None else seconds
        return Scores(times, oom, simulated.peak_memory)

    def _run(self, devices: Ints) -> float | None:
        """Seconds of a step; None where it does not run."""
        start = time.monotonic()
        result = self.backend.measure(self.step, devices, self.timing)
        self._seconds += time.monotonic() - start
        self._statuses[result.status] += 1
        if result.status == "ok" and result.step_time is not None:
            self._times[digest([devices])].append(result.step_time)
            return result.step_time
        self._reasons.setdefault(result.status, result.reason)
        runs, known = self._statuses.total(), self._statuses
        # Out of memory is a placement's own fault; of other failures the host may be the cause.
        if not known["ok"] and runs - known["oom"] >= PATIENCE:
            raise InputError(f"none of the first {runs} placements runs here: {result.reason}")
        return None

    def arrays(self) -> Arrays:
        """All runs so far, for the search's checkpoint: one JSON text."""
        with self._lock:
            told = {
                "seconds": self._seconds,
                "statuses": self._statuses,
                "reasons": self._reasons,
                "times": self._times,
            }
            return {"real_runs": np.array(json.dumps(told))}

    def take(self, arrays: Arrays) -> None:
        """Go on from what :meth:`arrays` gave: a search that was stopped counts all its runs."""
        told = json.loads(str(arrays["real_runs"]))
        with self._lock:
            self._seconds, self._reasons = told["seconds"], told["reasons"]
            self._statuses = Counter(told["statuses"])
            self._times = defaultdict(list, told["times"])

    def as_record(self) -> dict[str, Any]:
        """All runs so far: how many, their seconds, start-up included, and how they ended.

        ``reasons`` has one line for each way in which runs failed: the first that did.
        """
        return {
            "runs": self._statuses.total(),
            "run_seconds": round(self._seconds, 3),
            "statuses": dict(sorted(self._statuses.items())),
            "reasons": dict(sorted(self._reasons.items())),
        }

    def measured(self, devices: Ints) -> float | None:
        """Seconds of a placement, int[ops], in the median of its runs; None where it had none."""
        times = self._times.get(digest([np.asarray(devices, np.int32)]))
        return None if times is None else median(times)
