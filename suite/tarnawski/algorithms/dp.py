"""DP: the best contiguous split, by dynamic programming over ideals (Tarnawski et al.)."""

from __future__ import annotations

from math import inf
from time import monotonic

from suite.core.errors import Unsupported
from suite.tarnawski.dynamic import best_line, check_memory
from suite.tarnawski.ideals import enumerate_ideals
from suite.tarnawski.line import linearised
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")
"""For latency, the split is the one for throughput, a baseline of the paper."""


def solve(question: Question) -> Claim:
    """Split contiguously and optimally.

    Unsupported when there are too many ideals or no split fits into memory. When the time is up
    the answer is DPL's.
    """
    end, workload = monotonic() + question.seconds, question.workload
    parts, known = linearised(workload)
    ideals = enumerate_ideals(parts.count, parts.edges, question.ideals)
    check_memory(ideals.count, workload)
    best = best_line(workload, parts, ideals, known.objective, end - monotonic())
    throughput = question.objective == "throughput"
    if best.whole and best.objective < inf:
        value = best.objective if throughput else None
        status = "optimal" if throughput else "feasible"
        return Claim(parts.split(best.device), status, value, value, contiguous=True)
    if known.objective == inf:
        reason = "fits into memory" if best.whole else f"was found in {question.seconds:g} s"
        raise Unsupported(f"no contiguous split {reason}")
    value = known.objective if throughput else None
    return Claim(parts.split(known.device), "time limit", value, contiguous=True)
