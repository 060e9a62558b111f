"""A human's split, read from a file."""

from __future__ import annotations

from suite.core.errors import Unsupported
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")


def solve(question: Question) -> Claim:
    """Return the split that was given; Unsupported without one."""
    if question.expert is None:
        raise Unsupported("no expert split is given (--experts)")
    return Claim(question.expert, "feasible")
