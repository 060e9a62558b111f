"""Seconds to integer nanoseconds, and the static priority of operations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.simulator.longest_path import longest_paths

LONGEST = 2.0**62
"""Nanoseconds that a step may take: twice as many still count in 64 bits."""


def nanoseconds(seconds: Floats) -> NDArray[np.int64]:
    """max(1, round(1e9 x seconds)), halves to even; 0 where infinite (never run there)."""
    finite = np.where(np.isfinite(seconds), seconds, 0.0)
    rounded: NDArray[np.int64] = np.maximum(1, np.rint(1e9 * finite)).astype(np.int64)
    return np.where(np.isfinite(seconds), rounded, 0)


def one_by_one(duration: NDArray[np.int64]) -> float:
    """Nanoseconds of all operations in turn, each where it is slowest: int64[ops, devices]."""
    return float(duration.max(axis=1).sum(dtype=np.float64))


def check_longest(problem: Problem, longest: float) -> None:
    """Raise InputError where a step could take too many nanoseconds to be counted."""
    if longest >= LONGEST:
        raise InputError(
            f"a step of {problem.graph.name} on {problem.machine.name} could take"
            f" {longest / 1e9:.3g} s; the simulator counts up to {LONGEST / 1e9:.3g} s:"
            " check units"
        )


def run_order(graph: OpGraph, duration: NDArray[np.int64], policy: str) -> NDArray[np.int32]:
    """int32[ops]: rank of each operation among ready ones (``priority`` policy).

    Longest path to the end first, at each operation's fastest device; ties by topological order.
    """
    if policy != "priority":
        return np.arange(graph.n_ops, dtype=np.int32)
    best = np.where(duration > 0, duration, np.iinfo(np.int64).max).min(axis=1)
    order = np.lexsort((np.arange(graph.n_ops), -longest_paths(graph, best)))
    rank = np.empty(graph.n_ops, np.int32)
    rank[order] = np.arange(graph.n_ops)
    return rank
