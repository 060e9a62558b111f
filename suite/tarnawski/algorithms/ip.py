"""The integer program over all splits, contiguous or not, by HiGHS."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import monotonic

import numpy as np

from suite.core.errors import Unsupported
from suite.tarnawski.blocks import blocks
from suite.tarnawski.latency import solve_latency
from suite.tarnawski.max_load import ranks, renumbered, scattered
from suite.tarnawski.starts import best_start
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")
STARTS = ("dp", "dpl", "local_search", "greedy")


def solve(question: Question) -> Claim:
    """Split; for latency, each accelerator is called up to ``calls`` times.

    Starts from the best that others find in half of the time, the contiguous optimum where dynamic
    programming finds it, and so is never worse. Unsupported when there is no split, or none was
    found in time.
    """
    if question.objective == "latency":
        return solve_latency(question, question.calls)
    end, workload = monotonic() + question.seconds, question.workload
    parts = blocks(workload, contiguous=False)
    model = scattered(workload, parts)
    known = best_start(replace(question, seconds=question.seconds / 2), STARTS)
    start: dict[int, float] = {}
    if known is not None:
        device = np.empty(parts.count, np.int64)
        device[parts.of] = known[0].device
        device[:] = renumbered(device, ranks(parts), workload.accelerators)
        start = {int(c): 0.0 for c in model.on.ravel()}
        start |= {int(c): 1.0 for c in model.on[device, np.arange(parts.count)]}
    solved = model.program.minimise(
        model.target, question.gap, end - monotonic(), start, question.seed
    )
    status = "optimal" if solved.optimal else "time limit"
    split, value = known or (None, inf)
    if solved.values is not None and solved.values[model.target] < value:
        split = parts.split(np.argmax(solved.values[model.on], axis=0))
        value = float(solved.values[model.target])
    if split is None:
        reason = "exists" if solved.infeasible else f"was found in {question.seconds:g} s"
        raise Unsupported(f"no split {reason}")
    return Claim(split, status, value, min(max(solved.bound, 0.0), value))
