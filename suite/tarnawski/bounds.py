"""Lower bounds on what any split of a workload costs."""

from __future__ import annotations

from math import inf

import numpy as np

from suite.tarnawski.blocks import Blocks, contract
from suite.tarnawski.workload import Workload


def lower_bound(workload: Workload, objective: str) -> float:
    """Return ms that no split, contiguous or not, can go below."""
    if objective == "throughput":
        return load_bound(workload, contract(workload, workload.colour))
    return path_bound(workload)


def load_bound(workload: Workload, parts: Blocks) -> float:
    """The largest block, and the load when blocks could be divided at will and moves were free.

    A continuous knapsack: CPUs take what they are relatively fastest at.
    """
    cpu = parts.cpu if workload.cpus else np.full(parts.count, inf)
    fast = parts.accelerator if workload.accelerators else np.full(parts.count, inf)
    largest = float(np.minimum(cpu, fast).max())
    forced = ~np.isfinite(fast)
    if not workload.cpus or not workload.accelerators:
        return max(largest, float(np.minimum(cpu, fast).sum()) / workload.devices)
    slow, quick = float(cpu[forced].sum()), float(fast[~forced].sum())
    low, high = slow / workload.cpus, quick / workload.accelerators
    order = [b for b in np.argsort(cpu / np.maximum(fast, 1e-300)) if not forced[b]]
    for b in order:
        if low >= high:
            break
        gain, price = fast[b] / workload.accelerators, cpu[b] / workload.cpus
        share = min(1.0, (high - low) / (gain + price)) if gain + price > 0 else 1.0
        low, high = low + share * price, high - share * gain
    return max(largest, low, high)


def path_bound(workload: Workload) -> float:
    """The longest path when every node runs where it is fastest and moves are free."""
    from suite.tarnawski.reader import topological_order

    fastest = np.minimum(workload.cpu, workload.accelerator)
    finish = fastest.copy()
    after: list[list[int]] = [[] for _ in range(workload.nodes)]
    for u, v in workload.edges.tolist():
        after[u].append(v)
    for u in topological_order(workload.nodes, workload.edges, workload.name):
        for v in after[u]:
            finish[v] = max(finish[v], finish[u] + fastest[v])
    return float(finish.max())
