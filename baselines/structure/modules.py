"""Modules: roles that belong together, such as the cell of a layer, coarse to fine.

Communities of the graph of roles, where two roles are joined by as many edges as their members are:
within a cell by one a step, between two cells by a few (Louvain's method, Blondel et al. 2008).
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.graph import OpGraph

RESOLUTIONS = (0.5, 1.0, 2.0, 4.0)
"""Of Louvain's method; twice the number gives modules about half as large."""


def find_modules(graph: OpGraph, roles: Ints, seed: int) -> NDArray[np.int64]:
    """int64[resolutions, ops]: the modules, given int64[ops] roles; all of a role are in one."""
    count = int(roles.max(initial=-1)) + 1
    tensors, consumers = graph.edges
    ends = np.sort(np.stack([roles[graph.producer[tensors]], roles[consumers]]), axis=0)
    pairs, edges = np.unique(ends[:, ends[0] != ends[1]], axis=1, return_counts=True)
    joined = nx.Graph()
    joined.add_nodes_from(range(count))
    joined.add_weighted_edges_from(zip(*pairs.tolist(), edges.tolist(), strict=True))
    found = np.zeros((len(RESOLUTIONS), count), np.int64)
    for row, resolution in zip(found, RESOLUTIONS, strict=True):
        parts = nx.community.louvain_communities(joined, resolution=resolution, seed=seed)
        for number, part in enumerate(parts):
            row[list(part)] = number
    return found[:, roles]
