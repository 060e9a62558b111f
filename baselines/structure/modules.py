"""Modules: roles that belong together, such as the cell of a layer, coarse to fine.

Communities of the graph of roles, where two roles are joined by what all edges between their
members would cost as transfers: within a cell by one a step, between two cells by a few (Louvain's
method, Blondel et al. 2008).
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from baselines.partitioning.class_graph import integer_loads
from suite.core.arrays import Floats, Ints
from suite.core.graph import OpGraph
from suite.search.subprocess_call import call

RESOLUTIONS = (0.5, 1.0, 2.0, 4.0)
"""Of Louvain's method; twice the number gives modules about half as large."""
MOST = 20_000
"""Roles of which Louvain's method finds communities in seconds; METIS cuts larger graphs."""
TOTAL = 2**24
"""Sum of the weights that Louvain's method is given: see :func:`exact_weights`."""
PARTS = (16, 32, 64, 128)
"""Modules that METIS cuts, as many as Louvain's method finds in networks of some thousand roles."""


def find_modules(graph: OpGraph, roles: Ints, costs: Floats, seed: int) -> NDArray[np.int64]:
    """int64[levels, ops]: the modules, given int64[ops] roles; all of a role are in one.

    ``costs``, float64[tensors]: what it costs to cut a tensor's edges, relative to each other.
    NativeCrash where METIS fails.
    """
    tensors, consumers = graph.edges
    ends = np.sort(np.stack([roles[graph.producer[tensors]], roles[consumers]]), axis=0)
    apart = ends[0] != ends[1]
    pairs, which = np.unique(ends[:, apart], axis=1, return_inverse=True)
    which = which.reshape(-1)
    joined = np.asarray(np.bincount(which, costs[tensors[apart]], pairs.shape[1]), np.float64)
    if not joined.any():
        # No transfer costs anything, as on a machine of one device: then edges count.
        joined = np.asarray(np.bincount(which, minlength=pairs.shape[1]), np.float64)
    count = int(roles.max(initial=-1)) + 1
    found = (_communities if count <= MOST else _cuts)(count, pairs, joined, seed)
    return found[:, roles]


def _communities(count: int, pairs: Ints, joined: Floats, seed: int) -> NDArray[np.int64]:
    """int64[levels, roles], of int64[2, pairs] roles and by how much each pair is joined."""
    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    weights = exact_weights(joined).tolist()
    graph.add_weighted_edges_from(zip(*pairs.tolist(), weights, strict=True))
    found = np.zeros((len(RESOLUTIONS), count), np.int64)
    for row, resolution in zip(found, RESOLUTIONS, strict=True):
        parts = nx.community.louvain_communities(graph, resolution=resolution, seed=seed)
        for number, part in enumerate(parts):
            row[list(part)] = number
    return found


def exact_weights(joined: Floats) -> NDArray[np.int64]:
    """int64[pairs]: positive integers in proportion to float64[pairs], which add up to TOTAL.

    Since that is a power of two, as the resolutions are, floats hold every gain of Louvain's method
    exactly. Otherwise networkx (3.6.1 at least) may never end: where two gains are equal but for
    rounding, a role goes to and fro between the two communities.
    """
    # One unit each is set aside, so that no pair counts for nothing.
    shared = TOTAL - len(joined)
    ends = np.floor(np.cumsum(joined) / joined.sum() * shared).astype(np.int64)
    ends[-1:] = shared
    return np.asarray(np.diff(ends, prepend=0) + 1, np.int64)


def _cuts(count: int, pairs: Ints, joined: Floats, seed: int) -> NDArray[np.int64]:
    """As :func:`_communities`: parts of like size with few edges between them."""
    sources, targets = np.concatenate([pairs, pairs[::-1]], axis=1)
    order = np.lexsort((targets, sources))
    question = {
        "offsets": np.searchsorted(sources[order], np.arange(count + 1)),
        "neighbours": targets[order],
        "loads": np.ones(count, np.int64),
        "edge_loads": integer_loads(np.concatenate([joined, joined])[order]),
        "counts": np.array(PARTS),
        # METIS gives seeds 0 and 1 the same stream.
        "seeds": np.full(len(PARTS), seed + 2),
    }
    answer = call("metis", "baselines.partitioning.parts:cut", question)
    return answer["parts"].astype(np.int64)
