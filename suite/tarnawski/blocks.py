"""Blocks: what must share a device, contracted; the form in which algorithms see a workload."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np

from suite.core.arrays import Ints
from suite.tarnawski.workload import Floats, Split, Workload


@dataclass(frozen=True)
class Blocks:
    """A DAG of blocks and the outputs that may cross between them."""

    of: Ints
    """int64[nodes]: the block of each node."""
    cpu: Floats
    """float64[blocks], ms."""
    accelerator: Floats
    """float64[blocks], ms, infinite where unsupported."""
    size: Floats
    """float64[blocks], bytes."""
    edges: Ints
    """int64[edges, 2]: which block comes before which on a line of devices."""
    outputs: tuple[tuple[int, ...], ...]
    """Blocks that an output touches: its maker first, then its readers, at least two."""
    costs: Floats
    """float64[outputs], ms. A set of blocks on one accelerator pays every output it cuts."""

    @property
    def count(self) -> int:
        """Number of blocks."""
        return len(self.cpu)

    def split(self, device: Ints) -> Split:
        """The split of nodes for devices of blocks (int64[blocks])."""
        return Split.of(np.asarray(device, np.int64)[self.of])


def blocks(workload: Workload, contiguous: bool, merge: bool = True) -> Blocks:
    """Contract colour classes; for contiguous splits also cycles between them.

    Blocks without time that touch one other block only are merged into it (``merge``): exact
    where memory cannot bind, hence only there or where the block takes none.
    """
    of = fuse_cycles(workload, workload.colour) if contiguous else workload.colour
    if merge:
        of = _merge(workload, of)
    return contract(workload, of)


def contract(workload: Workload, of: Ints) -> Blocks:
    """Blocks for a given partition of the nodes (int64[nodes], numbered from 0)."""
    readers: list[set[int]] = [set() for _ in range(workload.nodes)]
    for u, v in workload.edges.tolist():
        readers[u].add(int(of[v]))
    pins, costs = [], []
    for u, others in enumerate(readers):
        apart = sorted(others - {int(of[u])})
        if apart and workload.cost[u] > 0:
            pins.append((int(of[u]), *apart))
            costs.append(float(workload.cost[u]))
    return Blocks(
        of,
        _sums(of, workload.cpu),
        _sums(of, workload.accelerator),
        _sums(of, workload.size),
        _unique(_line_edges(workload, of)),
        tuple(pins),
        np.array(costs),
    )


def _sums(of: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(of, values), np.float64)


def _line_edges(workload: Workload, of: Ints) -> Ints:
    """Edges that a line of devices must follow, between blocks.

    Forward edges; and edges of the backward pass in mirror image where an end has no forward node
    (what the authors do with an artificial forward twin).
    """
    forward = np.zeros(int(of.max()) + 1, np.bool_)
    forward[of[~workload.backward]] = True
    ends = of[workload.edges]
    back = workload.backward[workload.edges]
    ahead = ends[~back.any(axis=1)]
    orphans = back.all(axis=1) & ~forward[ends].all(axis=1)
    return np.concatenate([ahead, ends[orphans][:, ::-1]])


def _unique(edges: Ints) -> Ints:
    apart = edges[edges[:, 0] != edges[:, 1]]
    return np.unique(apart, axis=0) if len(apart) else apart.reshape(0, 2)


def fuse_cycles(workload: Workload, of: Ints) -> Ints:
    """Number strongly connected blocks as one; from and to int64[nodes]."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(int(of.max()) + 1))
    graph.add_edges_from(_line_edges(workload, of).tolist())
    label = np.empty(len(graph), np.int64)
    for number, component in enumerate(nx.strongly_connected_components(graph)):
        label[sorted(component)] = number
    return _renumber(label[of])


def _renumber(labels: Ints) -> Ints:
    """Number labels from 0 in the order in which they first occur."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _merge(workload: Workload, of: Ints) -> Ints:
    """Merge blocks without time into their only neighbour (Tarnawski et al.'s released code)."""
    whole = contract(workload, of)
    roomy = workload.size.sum() <= workload.memory
    supported = np.isfinite(whole.accelerator)
    neighbours: list[set[int]] = [set() for _ in range(whole.count)]
    for a, b in of[workload.edges].tolist():
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    label = np.arange(whole.count)
    idle = (whole.cpu == 0) & (whole.accelerator == 0) & (roomy | (whole.size == 0)) & supported
    queue = [b for b in range(whole.count) if idle[b] and len(neighbours[b]) == 1]
    while queue:
        block = queue.pop()
        if len(neighbours[block]) != 1:
            continue
        (host,) = neighbours[block]
        label[block] = host
        neighbours[block].clear()
        neighbours[host].discard(block)
        if idle[host] and len(neighbours[host]) == 1:
            queue.append(host)
    while (label[label] != label).any():
        label = label[label]
    return _renumber(label[of])
