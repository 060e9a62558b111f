"""Scotch on the accelerators, with the weights of Tarnawski et al."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import Unsupported
from suite.search.subprocess_call import call
from suite.tarnawski.blocks import Blocks, blocks
from suite.tarnawski.workload import Claim, Floats, Question

OBJECTIVES = ("throughput", "latency")
LARGEST_SUM = 5e8
"""Sum that loads are scaled to at most; Scotch adds them up in 32 bits."""
PER_MS = 1e6
"""The authors' scale."""


def solve(question: Question) -> Claim:
    """Balance times and cut little; what accelerators do not support goes to a CPU.

    Unsupported without accelerators, or CPUs where one is needed.
    """
    workload = question.workload
    parts = blocks(workload, contiguous=False, merge=False)
    asked = np.flatnonzero(np.isfinite(parts.accelerator))
    if not workload.accelerators or (len(asked) < parts.count and not workload.cpus):
        raise Unsupported("Scotch maps to accelerators, and what they cannot run needs a CPU")
    device = np.full(parts.count, workload.accelerators, np.int64)
    device[asked] = 0
    if workload.accelerators > 1 and len(asked) > 1:
        device[asked] = _map(parts, asked, workload.accelerators, question.seed)
    return Claim(parts.split(device), "feasible")


def _map(parts: Blocks, asked: Ints, accelerators: int, seed: int) -> Ints:
    number = {int(b): i for i, b in enumerate(asked)}
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for pins, cost in zip(parts.outputs, parts.costs, strict=True):
        for reader in pins[1:]:
            if pins[0] in number and reader in number:
                a, b = number[pins[0]], number[reader]
                weights[a, b] += cost
                weights[b, a] += cost
    arcs = sorted(weights)
    counts = np.bincount([a for a, _ in arcs], minlength=len(asked))
    answer = call(
        "scotch",
        "baselines.partitioning.scotch:static_map",
        {
            "offsets": np.concatenate([[0], np.cumsum(counts)]),
            "neighbours": np.array([b for _, b in arcs], np.int64),
            "loads": _whole(parts.accelerator[asked]),
            "edge_loads": _whole(np.array([weights[arc] for arc in arcs])),
            "fixed": np.full(len(asked), -1),
            "speeds": np.ones(accelerators, np.int64),
            "costs": np.ones((accelerators, accelerators), np.int64),
            "flags": 0,
            "imbalance": 0.01,
            # Scotch gives seeds 2k and 2k + 1 the same stream.
            "seed": 2 * seed,
        },
    )
    return np.asarray(answer["parts"], np.int64)


def _whole(values: Floats) -> Ints:
    scale = min(PER_MS, LARGEST_SUM / max(float(values.sum()), 1e-9))
    return np.maximum(1, np.rint(values * scale)).astype(np.int64)
