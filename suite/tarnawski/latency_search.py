"""Local search for latency: single moves between neighbours, one call an accelerator and pass."""

from __future__ import annotations

import numpy as np

from suite.core.errors import InputError, Unsupported
from suite.tarnawski.blocks import blocks
from suite.tarnawski.calls import one_call_a_pass
from suite.tarnawski.evaluator import score
from suite.tarnawski.starts import best_start, passes
from suite.tarnawski.workload import Claim, Question

STARTS = ("cpu", "greedy", "dpl")
EVALUATIONS = 1500
"""Splits that are tried."""


def search_latency(question: Question) -> Claim:
    """Move random blocks to devices of their neighbours, or to a CPU, while latency falls.

    Unsupported when no split is known that fits into memory with one call an accelerator.
    """
    workload = question.workload
    known = best_start(question, STARTS, passes(workload))
    parts = blocks(workload, contiguous=True, merge=False)
    if known is None:
        raise Unsupported("no split is known that fits into memory")
    rng = np.random.default_rng(question.seed)
    device, best = np.empty(parts.count, np.int64), known[1]
    device[parts.of] = known[0].device
    for _ in range(EVALUATIONS):
        block = int(rng.integers(parts.count))
        touching = parts.edges[(parts.edges == block).any(axis=1)].ravel()
        targets = np.append(device[touching], rng.integers(workload.accelerators + 1))
        moved = device.copy()
        moved[block] = rng.choice(targets)
        if moved[block] == device[block] or moved[block] >= workload.devices:
            continue
        try:
            found = score(workload, one_call_a_pass(workload, moved[parts.of]), "latency")
        except InputError:
            continue
        if not found.oom and found.objective <= best:
            device, best = moved, found.objective
    return Claim(one_call_a_pass(workload, device[parts.of]), "feasible", best)
