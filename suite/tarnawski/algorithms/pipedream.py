"""PipeDream-style: branches contracted to a chain, then the best cuts of the chain."""

from __future__ import annotations

import networkx as nx
import numpy as np
from networkx.utils import UnionFind

from suite.core.errors import Unsupported
from suite.tarnawski.blocks import blocks, contract, fuse_cycles
from suite.tarnawski.line import linearised
from suite.tarnawski.workload import Claim, Question

OBJECTIVES = ("throughput", "latency")


def solve(question: Question) -> Claim:
    """Contract the branches of each biconnected component, then run DPL.

    As in Tarnawski et al.'s released code, that is all blocks with an edge in the component that
    leaves them: where branches meet again is a place to cut. Unsupported when no split of the chain
    fits into memory.
    """
    workload = question.workload
    parts = blocks(workload, contiguous=True)
    graph = nx.Graph()
    graph.add_nodes_from(range(parts.count))
    graph.add_edges_from(parts.edges.tolist())
    forward = {(a, b) for a, b in parts.edges.tolist()}
    together = UnionFind(range(parts.count))
    for component in nx.biconnected_component_edges(graph):
        together.union(*{a if (a, b) in forward else b for a, b in component})
    label = np.array([together[block] for block in range(parts.count)])
    chain, best = linearised(workload, contract(workload, fuse_cycles(workload, label[parts.of])))
    if best.device.min() < 0:
        raise Unsupported("no cut of the chain fits into memory")
    objective = best.objective if question.objective == "throughput" else None
    return Claim(chain.split(best.device), "feasible", objective, contiguous=True)
