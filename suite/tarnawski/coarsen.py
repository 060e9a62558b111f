"""A task coarsened by its blocks into a workload of Tarnawski et al. (NeurIPS 2020).

Ours, since the paper's own inputs come from other profilers: a block is a co-location group of
ColocRL's (:mod:`suite.core.colocation`). Its forward and its backward part are nodes of one colour.
A block without a forward part (sums of gradients, the optimizer's constants) joins the one that it
shares most bytes with.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.core.problem import Problem
from suite.tarnawski.passes import FORWARD, passes_of

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Coarse:
    """Nodes made of operations, and the outputs that may cross between devices."""

    colour: Labels
    """int64[ops]: the colour class of every operation, those that no node holds among them."""
    node: Labels
    """int64[ops]: the node that an operation is in; -1: none (backward, in a workload of
    inference)."""
    node_colour: Labels
    """int64[nodes]."""
    backward: NDArray[np.bool_]
    """bool[nodes]."""
    size: Labels
    """int64[nodes]: bytes on an accelerator: variables and, of what forward nodes make, all that
    backward ones read, which must wait for them."""
    edges: tuple[tuple[int, int], ...]
    """Between nodes of one colour, which share a device: nothing is ever moved."""
    outputs: tuple[tuple[int, tuple[int, ...], Labels], ...]
    """(maker, readers, tensors): what nodes of other colours read, by who reads it."""


def coarsen(problem: Problem, inference: bool) -> Coarse:
    """Contract a problem's blocks, of the forward pass alone for ``inference``.

    Classes without a GPU kernel are apart from the rest of their block, which can then go to an
    accelerator. A block that others wait for in between is several nodes of one colour: nodes are
    split by the number of changes of block on the longest way there, inside cycles only.
    """
    graph, passes = problem.graph, passes_of(problem.graph)
    colour = _colours(problem, passes == FORWARD)
    kept = passes == FORWARD if inference else np.ones(graph.n_ops, np.bool_)
    node = np.full(graph.n_ops, -1, np.int64)
    node[kept] = _numbered(_parts(graph, 3 * colour + passes, kept)[kept])
    heads = np.flatnonzero(kept)[np.unique(node[kept], return_index=True)[1]]
    edges, outputs = _flows(graph, colour, node)
    backward = passes[heads] != FORWARD
    return Coarse(
        colour, node, colour[heads], backward, _sizes(graph, node, backward), edges, outputs
    )


def _colours(problem: Problem, forward: NDArray[np.bool_]) -> Labels:
    """Blocks, what no GPU runs apart, and those without a forward part joined to others."""
    graph, host = problem.graph, _host(problem)
    colour = _numbered(2 * problem.groups + host)
    tensors, readers = graph.edges
    ends = np.stack([colour[graph.producer[tensors]], colour[readers]])
    count = int(colour.max()) + 1
    ahead, slow = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    ahead[colour[forward]] = True
    slow[colour[host]] = True
    joined = np.arange(count)
    # One control edge is worth less than one byte, and more than nothing.
    weight = graph.tensor_bytes[tensors] + 1.0 / (1 + len(tensors))
    for block in np.flatnonzero(~ahead & ~slow).tolist():
        touching = (ends == block).any(axis=0)
        other = np.where(ends[0] == block, ends[1], ends[0])[touching]
        shared = np.bincount(other, weight[touching] * (ahead & ~slow)[other], count)
        if shared.any():
            joined[block] = int(np.argmax(shared))
    return _numbered(joined[colour])


def alike(machine: Machine) -> tuple[int, int]:
    """Indices of a GPU and a CPU that stand for all; InputError where the format has no words.

    In the format all accelerators are alike, and all talk to one host.
    """
    if not machine.gpus or not machine.cpus:
        raise InputError(f"machine {machine.name} needs a GPU (the accelerator) and a CPU")
    for kind in (machine.gpus, machine.cpus):
        numbers = {
            (d.kind, d.memory, d.peak_flops, d.memory_bandwidth, d.launch_overhead, d.host_overhead)
            for d in (machine.devices[i] for i in kind)
        }
        if len(numbers) > 1:
            raise InputError(f"devices of one kind of machine {machine.name} differ; use one kind")
    links = {
        (link.bandwidth, link.latency)
        for (s, t), link in machine.link_of.items()
        if (s in machine.gpus) != (t in machine.gpus)
    }
    if len(links) > 1:
        raise InputError(
            f"machine {machine.name} has different links between GPUs and CPUs; a workload has one"
            " cost for an output"
        )
    return machine.gpus[0], machine.cpus[0]


def _host(problem: Problem) -> NDArray[np.bool_]:
    """bool[ops]: its colocation class cannot go to a GPU."""
    gpu = alike(problem.machine)[0]
    return np.asarray(~problem.allowed[problem.graph.colocation, gpu], np.bool_)


def _parts(graph: OpGraph, kind: Labels, kept: NDArray[np.bool_]) -> Labels:
    """Labels (int64[ops]) of which no two wait for each other, as fine as ``kind`` or finer."""
    kind = _numbered(kind)
    tensors, readers = graph.edges
    sources = graph.producer[tensors]
    inside = np.flatnonzero(kept[sources] & kept[readers])
    inside = inside[np.argsort(readers[inside], kind="stable")]
    a, b = kind[sources[inside]], kind[readers[inside]]
    count = int(kind.max()) + 1
    matrix = coo_array((np.ones(len(a)), (a, b)), shape=(count, count))
    cycle = connected_components(matrix, connection="strong")[1]
    level = np.zeros(graph.n_ops, np.int64)
    around = inside[cycle[a] == cycle[b]]
    for source, reader in zip(sources[around].tolist(), readers[around].tolist(), strict=True):
        further = level[source] + (kind[source] != kind[reader])
        level[reader] = max(level[reader], further)
    return kind * (int(level.max()) + 1) + level


def _flows(
    graph: OpGraph, colour: Labels, node: Labels
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, tuple[int, ...], Labels], ...]]:
    """Edges inside colours, and outputs that leave them, each by its maker and its readers."""
    inner: set[tuple[int, int]] = set()
    leaving: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for tensor, maker in enumerate(graph.producer.tolist()):
        here = int(node[maker])
        ends = graph.consumers[graph.consumer_offsets[tensor] : graph.consumer_offsets[tensor + 1]]
        ends = ends[node[ends] >= 0]
        if here < 0 or not len(ends):
            continue
        own = colour[ends] == colour[maker]
        inner |= {(here, n) for n in node[ends[own]].tolist() if n != here}
        if not own.all():
            leaving[here, tuple(np.unique(node[ends[~own]]).tolist())].append(tensor)
    outputs = tuple((*key, np.array(leaving[key], np.int64)) for key in sorted(leaving))
    return tuple(sorted(inner)), outputs


def _sizes(graph: OpGraph, node: Labels, backward: NDArray[np.bool_]) -> Labels:
    size = np.zeros(len(backward), np.int64)
    kept = node >= 0
    np.add.at(size, node[kept], graph.persistent_bytes[kept])
    tensors, readers = graph.edges
    made, read = node[graph.producer[tensors]], node[readers]
    # -1 marks an operation outside: the last node stands in for it, and the mask drops it.
    waits = (made >= 0) & (read >= 0) & ~backward[made] & backward[read]
    buffers = np.unique([_buffer(graph, int(tensor)) for tensor in np.unique(tensors[waits])])
    for buffer in buffers.astype(np.int64).tolist():
        size[node[graph.producer[buffer]]] += graph.tensor_bytes[buffer]
    return size


def _buffer(graph: OpGraph, tensor: int) -> int:
    """The tensor whose buffer this one shares."""
    while graph.alias_of[tensor] >= 0:
        tensor = int(graph.alias_of[tensor])
    return tensor


def _numbered(labels: Ints) -> Labels:
    """The same partition, numbered by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[inverse], np.int64)
