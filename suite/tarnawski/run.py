"""Asks an algorithm, re-scores its answer apart from it, and refuses wrong claims."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from math import isclose
from time import perf_counter
from typing import Any

from suite.core.errors import InputError, Unsupported
from suite.search.registry import lookup, modules
from suite.tarnawski.bounds import lower_bound
from suite.tarnawski.calls import calls
from suite.tarnawski.evaluator import Score, WrongClaim, contiguous, score
from suite.tarnawski.workload import Claim, Question, Split

TOLERANCE = 1e-6
"""Relative difference between a claimed and a scored objective."""


@dataclass(frozen=True)
class Answer:
    """A checked answer."""

    algorithm: str
    objective: float
    """ms, by the evaluator."""
    bound: float
    """ms: the larger of what the algorithm proved for its kind of split and the trivial bound."""
    status: str
    """``optimal``, ``time limit``, ``feasible`` or ``oom``."""
    seconds: float
    split: Split
    score: Score
    contiguous: bool
    """Whether the split is contiguous, by the evaluator."""

    @property
    def gap(self) -> float:
        """Relative distance of the objective from the bound."""
        return (self.objective - self.bound) / self.objective if self.objective else 0.0


def algorithms() -> list[str]:
    """Names of the algorithms, sorted."""
    return modules("suite.tarnawski.algorithms")


def algorithm(name: str) -> Any:
    """The module of an algorithm; InputError lists the known ones."""
    known = {other: other for other in algorithms()}
    return importlib.import_module(f"suite.tarnawski.algorithms.{lookup(known, name, 'algorithm')}")


def ask(name: str, question: Question) -> Answer:
    """Run one algorithm and check what it says.

    Unsupported when it declines; WrongClaim when its split is invalid, has another objective than
    claimed, breaks a bound, exceeds memory though it claims a proof, or is not contiguous.
    """
    module = algorithm(name)
    if question.objective not in module.OBJECTIVES:
        raise Unsupported(f"{name} is for {' and '.join(module.OBJECTIVES)} only")
    before = perf_counter()
    claim: Claim = module.solve(question)
    seconds = perf_counter() - before
    workload, split = question.workload, claim.split
    try:
        if question.objective == "latency":
            split = calls(workload, split)
        found = score(workload, split, question.objective)
    except InputError as error:
        raise WrongClaim(f"{name}: {error}") from None
    line = contiguous(workload, split)
    _check(name, claim, found, line)
    trivial = lower_bound(workload, question.objective)
    if found.objective < trivial * (1 - TOLERANCE):
        raise WrongClaim(f"{name}: {found.objective} ms is below the bound {trivial} ms")
    bound = min(max(trivial, claim.bound or 0.0), found.objective)
    status = "oom" if found.oom else claim.status
    return Answer(name, found.objective, bound, status, seconds, split, found, line)


def _check(name: str, claim: Claim, found: Score, line: bool) -> None:
    value = found.objective
    if claim.objective is not None and not isclose(claim.objective, value, rel_tol=TOLERANCE):
        raise WrongClaim(f"{name} claims {claim.objective} ms; the cost model says {value} ms")
    if claim.bound is not None and claim.bound > value * (1 + TOLERANCE):
        raise WrongClaim(f"{name} claims the bound {claim.bound} ms above its answer {value} ms")
    if claim.contiguous and not line:
        raise WrongClaim(f"{name} claims a contiguous split; it is not")
    if found.oom and (claim.objective is not None or claim.contiguous):
        raise WrongClaim(f"{name}: accelerators {found.oom} are out of memory")
