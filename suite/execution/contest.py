"""Which of several placements of a step is the fastest in reality.

All are run in rounds, one after another in an order that changes: what slows the host down for
seconds or minutes falls on all of them alike. In each round a placement's time counts as a multiple
of the round's median placement, so that a slow round is no slow placement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.statistics import Interval, median_interval
from suite.execution.measurement import Backend, Measurement, Step, Timing

TIMING = Timing(traced=0)
"""As every measurement here, but for the traced step, of which nothing is wanted."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One placement, and what its runs gave."""

    status: str
    """``ok``, or how a run of it ended; after that it is not run again."""
    reason: str
    """One line, empty when ``ok``."""
    step_times: tuple[tuple[float, ...], ...]
    """Seconds of the steps that count, of each round."""
    relative: tuple[float, ...] = ()
    """The median of each round, as a multiple of the round's; empty unless ``ok``."""

    @property
    def step_time(self) -> float | None:
        """Median seconds of the rounds' medians; None without a whole round."""
        return median(map(median, self.step_times)) if self.step_times else None

    @property
    def interval(self) -> Interval:
        """Where the median of ``relative`` lies; below six rounds, their range."""
        return median_interval(self.relative)


@dataclass(frozen=True, eq=False)
class Contest:
    """The placements in the order in which they were given, and what running them took."""

    entries: tuple[Entry, ...]
    runs: int
    """Real runs, those that failed included."""
    seconds: float
    """What they took, start-up included."""

    @property
    def fastest(self) -> int | None:
        """The least median of ``relative``, the first of equals; None where none ran to the end."""
        ran = [i for i, entry in enumerate(self.entries) if entry.relative]
        return min(ran, key=lambda i: median(self.entries[i].relative), default=None)

    @property
    def ties(self) -> tuple[int, ...]:
        """The others that may be as fast: their intervals overlap that of the fastest.

        After a single round, which says nothing of the noise, all of them.
        """
        if self.fastest is None:
            return ()
        best = self.entries[self.fastest].interval
        others = [(i, entry) for i, entry in enumerate(self.entries) if i != self.fastest]
        # Written so that intervals that are not numbers overlap.
        return tuple(i for i, e in others if e.relative and not e.interval.low > best.high)


def contest(
    backend: Backend,
    step: Step,
    placements: Sequence[Ints],
    rounds: int,
    timing: Timing = TIMING,
    tell: Callable[[str], None] = lambda line: None,
) -> Contest:
    """Run every placement, int[ops], once a round; one that fails is out.

    ``tell`` hears of each round. InputError where there is nothing to run, and as
    :meth:`Backend.measure` raises it.
    """
    if not placements or rounds < 1:
        raise InputError(f"{len(placements)} placements, {rounds} rounds; give one at least")
    kept: list[list[Measurement]] = [[] for _ in placements]
    failed: dict[int, Measurement] = {}
    start, runs = time.monotonic(), 0
    for number in range(rounds):
        # In one and the same order each would always follow the same one.
        for i in np.random.default_rng(number).permutation(len(placements)).tolist():
            if i in failed:
                continue
            result, runs = backend.measure(step, placements[i], timing), runs + 1
            if result.status == "ok":
                kept[i].append(result)
            else:
                failed[i] = result
        tell(f"round {number + 1} of {rounds}, {len(placements) - len(failed)} placements")
    seconds = time.monotonic() - start
    return Contest(_entries(kept, failed, rounds), runs, seconds)


def _entries(
    kept: Sequence[Sequence[Measurement]], failed: dict[int, Measurement], rounds: int
) -> tuple[Entry, ...]:
    times = [tuple(result.kept for result in results) for results in kept]
    whole = [one for i, one in enumerate(times) if i not in failed]
    usual = [median(median(one[r]) for one in whole) for r in range(rounds) if whole]
    entries = []
    for i, one in enumerate(times):
        if i in failed:
            entries.append(Entry(failed[i].status, failed[i].reason, one))
        else:
            relative = tuple(median(one[r]) / usual[r] for r in range(rounds))
            entries.append(Entry("ok", "", one, relative))
    return tuple(entries)
