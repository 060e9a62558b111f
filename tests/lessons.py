"""Planners that learn on several small graphs, and the policies that come of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planners.gdp import GDP
from planners.learned_moves import LearnedMoves
from planners.placeto import Placeto
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.formats.policy_file import Lesson, PolicyFile
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.search.training import Training
from suite.simulator.compiled.judge import Simulator

Planner = GDP | Placeto | LearnedMoves


class Mortal:
    """The simulator, until its process ends."""

    def __init__(self, problem: Problem, calls: float = float("inf")) -> None:
        self.simulator, self.calls = Simulator(problem), calls

    def __call__(self, devices: NDArray[np.int32]) -> Scores:
        if not self.calls:
            raise KeyboardInterrupt
        self.calls -= 1
        return self.simulator(devices)


def training(
    problems: list[Problem],
    saved: Checkpoint | None = None,
    calls: float = float("inf"),
    evaluations: int | None = None,
) -> Training:
    searches = [Search(p, Mortal(p, calls), seed, evaluations) for seed, p in enumerate(problems)]
    return Training(searches, 7, saved)


def policy_of(planner: Planner, name: str, lessons: Training) -> PolicyFile:
    """Train, and make of it what is saved."""
    learned = planner.train(lessons)
    about = [
        Lesson(
            s.problem.graph.name,
            s.problem.graph.fingerprint,
            "small",
            2,
            s.problem.machine.n_devices,
            s.problem.machine.fingerprint,
            s.evaluations,
            s.best_time,
        )
        for s in lessons.searches
    ]
    found = tuple(np.asarray(s.best.devices, np.uint8) for s in lessons.searches if s.best)
    settings = vars(planner)
    return PolicyFile(
        name, settings, learned.vocabulary, tuple(about), 7, learned.weights, answers=found
    )


def from_file(planner: Planner, path: Path, steps: int) -> Planner:
    """The planner, started from a policy, with so many updates or episodes."""
    what = "episodes" if isinstance(planner, Placeto) else "updates"
    return replace(planner, policy=str(path), **{what: steps})
