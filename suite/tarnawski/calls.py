"""Cuts the nodes of each accelerator into calls that do not wait for each other."""

from __future__ import annotations

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.tarnawski.evaluator import score
from suite.tarnawski.reader import topological_order
from suite.tarnawski.workload import Split, Workload


def one_call_a_pass(workload: Workload, device: Ints) -> Split:
    """One call an accelerator; where the workload trains, one forward and one backward."""
    return Split(np.asarray(device, np.int64), workload.backward.astype(np.int64))


def calls(workload: Workload, split: Split) -> Split:
    """The split itself where it has calls; one call a pass; else cut by the devices on the way.

    The last where the others' calls would wait for each other: a node's stage is the largest number
    of changes of device on any path to it, so edges never run to an earlier stage and, within a
    stage, not between devices.
    """
    known = split if split.stage.any() else one_call_a_pass(workload, split.device)
    try:
        score(workload, known, "latency")
    except InputError:
        return Split(split.device, _changes(workload, split))
    return known


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
