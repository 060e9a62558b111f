"""PipeDream-style: branches contracted to a chain, then the best cuts of the chain."""

from __future__ import annotations

import networkx as nx
import numpy as np

from suite.core.errors import Unsupported
from suite.tarnawski.blocks import blocks, contract, fuse_cycles
from suite.tarnawski.line import linearised
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")


def solve(question: Question) -> Claim:
    """Contract what lies inside each biconnected component, then run DPL.

    Unsupported when no split of the chain fits into memory.
    """
    workload = question.workload
    parts = blocks(workload, contiguous=True)
    graph = nx.Graph()
    graph.add_nodes_from(range(parts.count))
    graph.add_edges_from(parts.edges.tolist())
    joints = set(nx.articulation_points(graph))
    label = np.arange(parts.count)
    for component in nx.biconnected_components(graph):
        inner = sorted(component - joints)
        label[inner] = min(inner, default=0)
    chain, best = linearised(workload, contract(workload, fuse_cycles(workload, label[parts.of])))
    if best.device.min() < 0:
        raise Unsupported("no cut of the chain fits into memory")
    objective = best.objective if question.objective == "throughput" else None
    return Claim(chain.split(best.device), "feasible", objective, contiguous=True)
