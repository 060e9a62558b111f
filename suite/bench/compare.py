"""One placer's answer to one problem, judged: what ``placebench place`` compares."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suite.bench.ask import ask
from suite.core.errors import BudgetExhausted, InputError, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Placer, Search
from suite.search.registry import make_placer
from suite.search.subprocess_call import NativeCrash
from suite.simulator.judges import AnySimulator
from suite.simulator.result import StepResult

BASELINES = ("cpu_only", "gpu_only", "scotch", "mincut", "metis")
"""Placers that need neither a human expert nor a budget."""
QUICK = (*BASELINES, "heft", "etf", "m_topo", "m_etf")
"""What is tried beside a search where no placer is named: list schedules, too."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A placement and what it is worth."""

    placement: Placement
    result: StepResult
    seconds: float
    """Wall-clock seconds the placer took, judging included."""
    evaluations: int
    """Placements it had judged."""


@dataclass(frozen=True, eq=False)
class Trial:
    """How a placer fared."""

    placer: str
    answer: Answer | None
    status: str = "ok"
    """``ok``, ``oom``, ``skipped`` (the placer declines such problems) or ``error``."""
    reason: str = ""
    """Why there is no answer."""

    @classmethod
    def of(cls, placer: str, answer: Answer) -> Trial:
        """Wrap an answer."""
        return cls(placer, answer, "oom" if answer.result.oom.any() else "ok")


def attempt(problem: Problem, simulator: AnySimulator, placer: Placer, search: Search) -> Answer:
    """Let a placer answer and judge it; what :func:`ask` and the placer raise passes through."""
    start = time.monotonic()
    placement = ask(placer, problem, search)
    seconds = time.monotonic() - start
    return Answer(placement, simulator.run(placement.devices), seconds, search.evaluations)


def compare(
    problem: Problem,
    simulator: AnySimulator,
    asked: Trial,
    seed: int,
    beside: Sequence[str] = BASELINES,
    hear: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Return ``asked`` and, after it, every placer of ``beside`` that is not the one asked for.

    The human expert is among them where the problem has one. A placer that fails says why.
    ``hear`` is told of each of these when it has answered.
    """
    names = beside if problem.expert is None else (*beside, "human_expert")
    trials = [asked]
    for name in names:
        if name != asked.placer:
            trials.append(_tried(problem, simulator, name, seed))
            hear(trials[-1])
    return trials


def fastest(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the smallest step time of those that fit in memory, the first of equals."""
    valid = [
        (trial.answer.result.step_time, i)
        for i, trial in enumerate(trials)
        if trial.answer is not None and trial.status == "ok"
    ]
    return trials[min(valid)[1]] if valid else None


def _tried(problem: Problem, simulator: AnySimulator, name: str, seed: int) -> Trial:
    search = Search(problem, simulator, seed)
    try:
        return Trial.of(name, attempt(problem, simulator, make_placer(name, {}), search))
    except Unsupported as error:
        return Trial(name, None, "skipped", str(error))
    except (InputError, BudgetExhausted, NativeCrash) as error:
        return Trial(name, None, "error", str(error))
