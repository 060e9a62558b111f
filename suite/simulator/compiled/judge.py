"""Simulator: judges placements of one problem, batches of them on all cores."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints
from suite.core.cores import my_share
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.simulator.compiled.kernel import Kernels, kernels
from suite.simulator.compiled.layout import layout
from suite.simulator.compiled.rules import rules_of
from suite.simulator.compiled.state import DEVICE_MASK, Totals, Work, workspace
from suite.simulator.result import StepResult, TooLong, check_policy, own_policy
from suite.simulator.rows import device_row, device_rows
from suite.simulator.semantics import PLACEBENCH, Semantics

Kept = TypeVar("Kept")


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: starting them takes longer than a small batch of small steps."""
    return ThreadPoolExecutor(workers)


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)


class Simulator:
    """Judge of placements of one problem (a :class:`suite.core.scores.Judge`).

    Devices are placements, or whole numbers as in :class:`Placement`. Of numbers it is not asked
    whether operations may be there, and classes are together: :meth:`Placement.of` does that.
    """

    def __init__(
        self, problem: Problem, policy: str | None = None, semantics: Semantics = PLACEBENCH
    ) -> None:
        """Prepare the arrays. ``policy`` is ``fifo``, ``priority`` or ``stack``, by default the
        machine's own; InputError otherwise.
        """
        policy = policy or own_policy(problem.machine, semantics)
        check_policy(policy, semantics)
        if problem.machine.n_devices > DEVICE_MASK:
            raise InputError(f"{problem.machine.n_devices} devices; at most {DEVICE_MASK}")
        self.problem = problem
        self.semantics = semantics
        self.layout = layout(problem, policy, semantics)
        wide, long = self.layout.links.words > 1, self.layout.rank_bits == 0
        self.rules = rules_of(problem.machine, policy, semantics, wide, long)
        self._kernels = kernels(self.rules)
        # Deadlines are a rule of their own, so that steps without one do not pay for looking. What
        # meets one is known to fit, or else is simulated again: of most steps nobody asks.
        self._bounded = not (semantics.blocks or semantics.alloc_at_end)
        self._timed = kernels(self.rules._replace(timed=True, bounded=self._bounded))
        self._spare: queue.SimpleQueue[tuple[Work, Totals]] = queue.SimpleQueue()

    def _scratch(self) -> tuple[Work, Totals]:
        try:
            return self._spare.get_nowait()
        except queue.Empty:
            return workspace(self.layout, self.rules)

    def run(self, devices: Placement | Ints) -> StepResult:
        """Simulate one placement, int[ops]."""
        return self.record(devices, lambda w, requests: None)[0]

    def record(
        self, devices: Placement | Ints, keep: Callable[[Work, int], Kept]
    ) -> tuple[StepResult, Kept]:
        """Simulate one placement; ``keep`` copies what it wants of all times.

        It is given the scratch memory, which the next simulation overwrites, and the number of
        transfers.
        """
        rows = device_row(self.problem, devices)
        w, totals = scratch = self._scratch()
        end, requests = self._kernels.simulate(self.layout, w, totals, rows, 0)
        found = self._result(int(end), totals), keep(w, int(requests))
        self._spare.put(scratch)
        return found

    def _result(self, end: int, totals: Totals) -> StepResult:
        oom = self.semantics.full(totals.peak, self.problem.machine.memory)
        return StepResult(end, totals.busy.copy(), totals.peak.copy(), totals.moved.copy(), oom)

    def run_until(self, devices: Placement | Ints, deadline: int) -> StepResult | TooLong:
        """Simulate one placement, unless its step takes longer than ``deadline`` nanoseconds."""
        rows = device_row(self.problem, devices)
        w, totals = scratch = self._scratch()
        end, _ = self._timed.simulate(self.layout, w, totals, rows, deadline)
        self._spare.put(scratch)
        return TooLong(deadline, int(-end)) if end < 0 else self.run(devices)

    def __call__(self, devices: Sequence[Placement] | Ints) -> Scores:
        """Simulate a batch, int[batch, ops], on all cores."""
        return self.batch(devices)

    def within(self, devices: Sequence[Placement] | Ints, seconds: Floats) -> Scores:
        """Simulate a batch, each up to float64[batch] seconds, on all cores."""
        return self.batch(devices, seconds=seconds)

    def batch(
        self,
        devices: Sequence[Placement] | Ints,
        threads: int | None = None,
        seconds: Floats | None = None,
    ) -> Scores:
        """Simulate a batch, int[batch, ops], on ``threads`` cores (default: this
        process's share of them).

        With ``seconds``, float64[batch], steps that certainly take longer are broken off, and of
        those that certainly fit in memory the peaks are not counted.
        """
        rows, workers = device_rows(self.problem, devices), threads or my_share().threads
        endless = np.zeros(len(rows), np.int64)
        if seconds is None:
            return self._scores(*self._simulated(self._kernels, rows, endless, workers))
        ends, peaks = self._simulated(self._timed, rows, _deadlines(seconds), workers)
        if self._bounded:
            fits = ~self._full(peaks)
            unsure = ~fits & (ends >= 0)
            peaks[fits] = -1
            if unsure.any():
                counted = self._simulated(self._kernels, rows[unsure], endless[unsure], workers)
                peaks[unsure] = counted[1]
        return self._scores(ends, peaks)

    def _simulated(
        self,
        compiled: Kernels,
        rows: NDArray[np.int32],
        deadlines: NDArray[np.int64],
        workers: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ends, int64[batch], below 0 where broken off, and peaks, int64[batch, devices]."""
        ends = np.zeros(len(rows), np.int64)
        peaks = np.zeros((len(rows), self.problem.machine.n_devices), np.int64)
        begun = np.zeros(1, np.int64)

        def work() -> None:
            scratch = self._scratch()
            compiled.simulate_many(self.layout, *scratch, rows, deadlines, ends, peaks, begun)
            self._spare.put(scratch)

        # This thread works, too: to wake others takes longer than some steps.
        others = min(workers, len(rows)) - 1
        helping = [_pool(others).submit(work) for _ in range(others)]
        work()
        for other in helping:
            other.result()
        return ends, peaks

    def _scores(self, ends: NDArray[np.int64], peaks: NDArray[np.int64]) -> Scores:
        timed_out = ends < 0
        peaks[timed_out] = -1
        return Scores(np.where(timed_out, np.inf, ends / 1e9), self._full(peaks), peaks)

    def _full(self, peaks: NDArray[np.int64]) -> Bools:
        """bool[batch]: whether any device runs out of memory."""
        full: Bools = np.any(self.semantics.full(peaks, self.problem.machine.memory), axis=1)
        return full


def _deadlines(seconds: Floats) -> NDArray[np.int64]:
    """int64[batch]: the last nanosecond not after float64[batch] seconds, as step times count."""
    last = np.floor(np.minimum(np.asarray(seconds, np.float64) * 1e9, 2.0**62)) + 1
    for _ in range(2):
        last -= last / 1e9 > seconds
    return last.astype(np.int64)
