"""Cuts the nodes of each accelerator into calls that do not wait for each other."""

from __future__ import annotations

import numpy as np

from suite.core.errors import InputError
from suite.tarnawski.evaluator import score
from suite.tarnawski.reader import topological_order
from suite.tarnawski.workload import Split, Workload


def calls(workload: Workload, split: Split) -> Split:
    """The split itself where its calls can run, else cut by the devices changed on the way.

    A node's stage is the largest number of changes of device on any path to it, so edges never run
    to an earlier stage and, within a stage, not between devices.
    """
    try:
        score(workload, split, "latency")
    except InputError:
        return Split(split.device, _changes(workload, split))
    return split


def _changes(workload: Workload, split: Split) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    stage = np.zeros(workload.nodes, np.int64)
    device = np.minimum(split.device, workload.accelerators)
    after: list[list[int]] = [[] for _ in range(workload.nodes)]
    for u, v in workload.edges.tolist():
        after[u].append(v)
    for u in topological_order(workload.nodes, workload.edges, workload.name):
        for v in after[u]:
            stage[v] = max(stage[v], stage[u] + (device[u] != device[v]))
    return stage
