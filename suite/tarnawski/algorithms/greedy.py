"""Accelerators filled one after the other in topological order (Tarnawski et al.)."""

from __future__ import annotations

import numpy as np

from suite.core.errors import Unsupported
from suite.tarnawski.blocks import blocks
from suite.tarnawski.reader import topological_order
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")


def solve(question: Question) -> Claim:
    """Fill until memory is full or, for throughput, an even share of the time is reached.

    What is left goes to a CPU; Unsupported without one.
    """
    workload = question.workload
    parts = blocks(workload, contiguous=True)
    fast = np.isfinite(parts.accelerator)
    share = np.inf
    if question.objective == "throughput" and workload.accelerators:
        share = float(parts.accelerator[fast].sum()) / workload.accelerators
    device = np.full(parts.count, workload.accelerators, np.int64)
    current, time, size = 0, 0.0, 0.0
    for block in topological_order(parts.count, parts.edges, workload.name):
        if not fast[block] or parts.size[block] > workload.memory:
            continue
        full = size + parts.size[block] > workload.memory
        last = current == workload.accelerators - 1
        if full or (not last and time > 0 and time + parts.accelerator[block] / 2 > share):
            current, time, size = current + 1, 0.0, 0.0
        if current >= workload.accelerators:
            break
        device[block] = current
        time, size = time + parts.accelerator[block], size + parts.size[block]
    if not workload.cpus and device.max() == workload.accelerators:
        raise Unsupported("the accelerators are full and there is no CPU")
    return Claim(parts.split(device), "feasible")
