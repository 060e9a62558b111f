"""Splits that integer programs start from: the best of the fast algorithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from suite.core.errors import InputError, Unsupported
from suite.tarnawski.calls import calls
from suite.tarnawski.evaluator import score
from suite.tarnawski.workload import Question, Split, Workload


def passes(workload: Workload) -> int:
    """Two where the workload trains, else one."""
    return 1 + int(workload.backward.any())


def best_start(
    question: Question,
    names: Iterable[str],
    most: int = 1,
    allowed: Callable[[Split], bool] = lambda split: True,
) -> tuple[Split, float] | None:
    """The best split that the named algorithms find, with its value.

    It is allowed, fits into memory and has at most ``most`` calls an accelerator.
    """
    from suite.tarnawski.run import algorithm

    best: tuple[Split, float] | None = None
    for name in names:
        try:
            split = algorithm(name).solve(question).split
            if question.objective == "latency":
                split = calls(question.workload, split)
            found = score(question.workload, split, question.objective)
        except (Unsupported, InputError):
            continue
        if (
            not found.oom
            and split.stage.max() < most
            and allowed(split)
            and (best is None or found.objective < best[1])
        ):
            best = split, found.objective
    return best
