"""The lower bound that holds under each semantics which has one."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from suite.bounds.lower_bound import Bound, lower_bound
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.simulator.durations import check_longest, nanoseconds, one_by_one
from suite.simulator.semantics import HETERO, PLACEBENCH, Semantics

BOUNDED = (PLACEBENCH.name, HETERO.name)
"""The semantics under which there is a bound."""


def bound_under(problem: Problem, semantics: Semantics) -> Bound:
    """Bound the step time of every valid placement from below; InputError without such a bound."""
    if semantics.name == PLACEBENCH.name:
        return lower_bound(problem)
    if semantics.sequential:
        return sequential_bound(problem)
    raise InputError(f"there is no bound under {semantics.name}; only {', '.join(BOUNDED)}")


def sequential_bound(problem: Problem) -> Bound:
    """Of steps in which one thing happens at a time.

    ``work``: every colocation class where it takes least, nothing sent. ``min_cut``: what the best
    placement takes, where there are two devices; so it is met, unless that does not fit in memory.
    Raises InputError for what no simulator can count.
    """
    durations = nanoseconds(problem.seconds)
    check_longest(problem, one_by_one(durations))
    times = np.zeros(problem.allowed.shape, np.int64)
    np.add.at(times, problem.graph.colocation, durations)
    most = np.iinfo(np.int64).max
    work = int(np.where(problem.allowed, times, most).min(axis=1, initial=most).sum())
    parts = {"work": work / 1e9}
    if problem.machine.n_devices == 2:
        from suite.bounds.min_cut import min_cut  # scipy's graphs, which nothing else here needs

        with suppress(InputError):  # too large to be counted; the other part holds all the same
            parts["min_cut"] = min_cut(problem).nanoseconds / 1e9
    kind = max(parts, key=lambda name: (parts[name], name == "min_cut"))
    return Bound(parts[kind], kind, parts)
