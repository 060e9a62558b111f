"""DPL: dynamic programming over the prefixes of one topological order (Tarnawski et al.)."""

from __future__ import annotations

from suite.core.errors import Unsupported
from suite.tarnawski.line import linearised
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")
"""For latency, the split is the one for throughput."""


def solve(question: Question) -> Claim:
    """Split contiguously; Unsupported when no prefix split fits into memory."""
    parts, best = linearised(question.workload)
    if best.device.min() < 0:
        raise Unsupported("no split of this topological order fits into memory")
    objective = best.objective if question.objective == "throughput" else None
    return Claim(parts.split(best.device), "feasible", objective, contiguous=True)
