"""All nodes on one CPU."""

from __future__ import annotations

import numpy as np

from suite.core.errors import Unsupported
from suite.tarnawski.workload import Claim, Question, Split

OBJECTIVES = ("throughput", "latency")


def solve(question: Question) -> Claim:
    """Split; Unsupported without CPUs."""
    workload = question.workload
    if not workload.cpus:
        raise Unsupported("this workload has no CPU")
    return Claim(Split.of(np.full(workload.nodes, workload.accelerators)), "feasible")
