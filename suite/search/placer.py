"""What a placer is, and Search: its only door to the judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.errors import BudgetExhausted
from suite.core.placement import Placement, check_devices
from suite.core.problem import Problem
from suite.core.scores import ImpatientJudge, Judge, Scores
from suite.search.checkpoint import Checkpoint
from suite.search.clock import Clock
from suite.search.progress_log import Journal, Progress


class Placer(Protocol):
    """Answers a problem with a placement. Parameters are the fields of a frozen dataclass."""

    def place(self, problem: Problem, search: Search) -> Placement:
        """Return a valid placement; raise Unsupported(reason) to decline the problem."""
        ...


@dataclass
class Search:
    """Scores placements for a placer, within a budget, and remembers the best."""

    problem: Problem
    judge: Judge
    seed: int = 0
    max_evaluations: int | None = None
    max_seconds: float | None = None
    journal: Journal = field(default_factory=Journal)
    """Where :meth:`log` writes."""
    saved: Checkpoint | None = None
    """Where :meth:`checkpoint` saves; None: nowhere."""
    best: Placement | None = None
    """The fastest placement so far that fits in memory."""
    best_time: float = float("inf")
    """Its step time in seconds."""
    evaluations: int = 0
    history: list[tuple[int, float, float]] = field(default_factory=list)
    """(evaluations, seconds since start, best step time), one entry per improvement."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What the placer reports about itself (:meth:`note`)."""

    def __post_init__(self) -> None:
        """Start the clock and the random stream."""
        self.rng = np.random.default_rng(self.seed)
        self.clock = Clock()
        self._step: int | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the search began, those before a resume included."""
        return self.clock.wall

    @property
    def remaining(self) -> float:
        """Evaluations left (infinite without a budget)."""
        if self.max_evaluations is None:
            return float("inf")
        return self.max_evaluations - self.evaluations

    def evaluate(
        self, placements: Sequence[Placement] | Ints, within: float = float("inf")
    ) -> Scores:
        """Score a batch of placements (or int[batch, ops]) and count it against the budget.

        The judge may break off those that take longer than ``within`` seconds
        (``Scores.timed_out``), which count all the same; never one that would be the best so far.
        It need not count the memory of what fits (``Scores.peak_memory``).
        Raises BudgetExhausted, scoring nothing, when the batch does not fit in what is left;
        InputError when a placement is invalid.
        """
        if isinstance(placements, np.ndarray):
            devices = placements
        else:
            devices = np.stack([p.devices for p in placements])
        if len(devices) > self.remaining:
            raise BudgetExhausted(f"{self.max_evaluations} placements evaluated")
        if self.max_seconds is not None and self.elapsed > self.max_seconds:
            raise BudgetExhausted(f"{self.max_seconds:g} seconds spent")
        for row in devices:
            check_devices(self.problem, row)
        scores = self._judged(np.ascontiguousarray(devices, np.int32), within)
        self._remember(devices, scores)
        return scores

    def _judged(self, devices: Ints, within: float) -> Scores:
        seconds = max(within, self.best_time)
        if np.isinf(seconds) or not isinstance(self.judge, ImpatientJudge):
            return self.judge(devices)
        return self.judge.within(devices, np.full(len(devices), seconds))

    def _remember(self, devices: Ints, scores: Scores) -> None:
        valid = np.where(scores.oom, np.inf, scores.step_time)
        for i in range(len(devices)):
            self.evaluations += 1
            if valid[i] < self.best_time:
                self.best_time = float(valid[i])
                self.best = Placement.of(self.problem, devices[i])
                self.history.append((self.evaluations, self.elapsed, self.best_time))

    def inner(self, seed: int, evaluations: float) -> Search:
        """A search for a placer that this search's placer asks, with at most so many evaluations.

        It has what is left of the seconds, too. :meth:`count` it when that placer has answered.
        """
        most = None if np.isinf(evaluations) else max(0, int(evaluations))
        seconds = None if self.max_seconds is None else max(0.0, self.max_seconds - self.elapsed)
        return Search(self.problem, self.judge, seed, most, seconds)

    def count(self, inner: Search) -> None:
        """Count an inner search's evaluations as this one's, and take over what it found."""
        for number, _, best_time in inner.history:
            if best_time < self.best_time:
                self.best_time = best_time
                self.history.append((self.evaluations + number, self.elapsed, best_time))
        if inner.best is not None and inner.best_time == self.best_time:
            self.best = inner.best
        self.evaluations += inner.evaluations

    def note(self, **facts: Any) -> None:
        """Put facts about the search into its record; TypeError if they are not fit for JSON."""
        self.notes |= json.loads(json.dumps(facts))

    def log(self, step: int, **scalars: float) -> None:
        """Write the scalars of a step: CSV, TensorBoard, live line."""
        self._step = step
        self.journal.add(
            Progress(
                step, self.elapsed, self.evaluations, self.best_time, self._seconds_left(), scalars
            )
        )

    def _seconds_left(self) -> float | None:
        """Seconds until the tighter budget is spent, at the pace so far."""
        left = float("inf")
        if self.max_seconds is not None:
            left = self.max_seconds - self.elapsed
        if self.max_evaluations is not None and self.evaluations:
            left = min(left, self.remaining * self.elapsed / self.evaluations)
        return max(0.0, left) if np.isfinite(left) else None

    def checkpoint(self, state: Callable[[], Mapping[str, NDArray[Any]]]) -> None:
        """Save the placer's arrays and the search's own state, when it is time to.

        ``state`` is called only then. A search that goes on from there goes on bit for bit.
        """
        if self.saved is None or not self.saved.due:
            return
        own = {
            "step": self._step,
            "evaluations": self.evaluations,
            "elapsed": self.elapsed,
            "processor": self.clock.processor,
            "best_time": self.best_time if self.best else None,
            "history": self.history,
            "notes": self.notes,
            "rng": self.rng.bit_generator.state,
        }
        best = {} if self.best is None else {"search/best": np.asarray(self.best.devices)}
        self.saved.save(own, {**state(), **best})

    def restore(self) -> dict[str, NDArray[Any]] | None:
        """Return the placer's arrays of the last checkpoint, and go on from there; None: afresh."""
        found = self.saved.load() if self.saved is not None else None
        if found is None:
            self.journal.resume(None)
            return None
        own, arrays = found
        best = arrays.pop("search/best", None)
        if best is not None:
            self.best, self.best_time = Placement.of(self.problem, best), own["best_time"]
        self._step, self.evaluations = own["step"], own["evaluations"]
        self.clock.resume(own["elapsed"], own.get("processor", 0.0))
        self.history = [(n, seconds, best) for n, seconds, best in own["history"]]
        self.notes = own["notes"]
        self.rng.bit_generator.state = own["rng"]
        self.journal.resume(self._step)
        return arrays
