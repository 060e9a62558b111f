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
from suite.search.subprocess_call import call

RESOLUTIONS = (0.5, 1.0, 2.0, 4.0)
"""Of Louvain's method; twice the number gives modules about half as large."""
MOST = 5_000
"""Roles of which Louvain's method finds communities in seconds; METIS cuts larger graphs."""
PARTS = (16, 32, 64, 128)
"""Modules that METIS cuts, as many as Louvain's method finds in networks of some thousand roles."""


def find_modules(graph: OpGraph, roles: Ints, seed: int) -> NDArray[np.int64]:
    """int64[levels, ops]: the modules, given int64[ops] roles; all of a role are in one.

    NativeCrash where METIS fails.
    """
    tensors, consumers = graph.edges
    ends = np.sort(np.stack([roles[graph.producer[tensors]], roles[consumers]]), axis=0)
    pairs, edges = np.unique(ends[:, ends[0] != ends[1]], axis=1, return_counts=True)
    count = int(roles.max(initial=-1)) + 1
    found = (_communities if count <= MOST else _cuts)(count, pairs, edges, seed)
    return found[:, roles]


def _communities(count: int, pairs: Ints, edges: Ints, seed: int) -> NDArray[np.int64]:
    """int64[levels, roles], of int64[2, joined] pairs of roles and the edges that join them."""
    joined = nx.Graph()
    joined.add_nodes_from(range(count))
    joined.add_weighted_edges_from(zip(*pairs.tolist(), edges.tolist(), strict=True))
    found = np.zeros((len(RESOLUTIONS), count), np.int64)
    for row, resolution in zip(found, RESOLUTIONS, strict=True):
        parts = nx.community.louvain_communities(joined, resolution=resolution, seed=seed)
        for number, part in enumerate(parts):
            row[list(part)] = number
    return found


def _cuts(count: int, pairs: Ints, edges: Ints, seed: int) -> NDArray[np.int64]:
    """As :func:`_communities`: parts of like size with few edges between them."""
    sources, targets = np.concatenate([pairs, pairs[::-1]], axis=1)
    order = np.lexsort((targets, sources))
    question = {
        "offsets": np.searchsorted(sources[order], np.arange(count + 1)),
        "neighbours": targets[order],
        "loads": np.ones(count, np.int64),
        "edge_loads": np.concatenate([edges, edges])[order],
        "counts": np.array(PARTS),
        # METIS gives seeds 0 and 1 the same stream.
        "seeds": np.full(len(PARTS), seed + 2),
    }
    answer = call("metis", "baselines.partitioning.parts:cut", question)
    return answer["parts"].astype(np.int64)
