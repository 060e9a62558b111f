"""Exact and linearised lines of devices: what dp, dpl, pipedream and warm starts share."""

from __future__ import annotations

from math import inf

from suite.tarnawski.blocks import Blocks, blocks
from suite.tarnawski.dynamic import Best, best_line
from suite.tarnawski.ideals import prefixes
from suite.tarnawski.reader import topological_order
from suite.tarnawski.workload import Workload


def linearised(workload: Workload, parts: Blocks | None = None) -> tuple[Blocks, Best]:
    """Dynamic programming over one topological order of the blocks (DPL of Tarnawski et al.)."""
    parts = blocks(workload, contiguous=True) if parts is None else parts
    order = topological_order(parts.count, parts.edges, workload.name)
    return parts, best_line(workload, parts, prefixes(order), inf, inf)
