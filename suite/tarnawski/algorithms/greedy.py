"""Accelerators filled one after the other in topological order.

For latency as Tarnawski et al. do; filling to an even share, for throughput, is ours.
"""

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
    current, time, size, taken = 0, 0.0, 0.0, False
    for block in topological_order(parts.count, parts.edges, workload.name):
        alone = not fast[block] or parts.size[block] > workload.memory
        full = size + parts.size[block] > workload.memory
        last = current == workload.accelerators - 1
        long = not last and time > 0 and time + parts.accelerator[block] / 2 > share
        # What goes to a CPU parts what is before it from what is behind it.
        if taken and (alone or full or long):
            current, time, size, taken = current + 1, 0.0, 0.0, False
        if current >= workload.accelerators:
            break
        if not alone:
            device[block] = current
            time, size = time + parts.accelerator[block], size + parts.size[block]
            taken = True
    if not workload.cpus and device.max() == workload.accelerators:
        raise Unsupported("the accelerators are full and there is no CPU")
    return Claim(parts.split(device), "feasible")
