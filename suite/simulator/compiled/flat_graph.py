"""Operations and tensors as flat arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints, csr
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.simulator.control_edges import with_control
from suite.simulator.durations import nanoseconds, run_order
from suite.simulator.lanes import lanes_of
from suite.simulator.semantics import Semantics


class FlatGraph(NamedTuple):
    """Read-only; edges are positions in ``graph.consumers``."""

    duration: NDArray[np.int64]
    """int64[ops, kinds]: nanoseconds."""
    kind: NDArray[np.int32]
    """int32[devices]: the column of each device; with one each, rows would fill the caches."""
    first_lane: NDArray[np.int32]
    """int32[devices + 1]: a device's lanes, each of which runs an operation at a time, begin here;
    one a device or more (``at_once``)."""
    lane_device: NDArray[np.int32]
    """int32[lanes]: whose each lane is."""
    rank: NDArray[np.int32]
    """int32[ops]: order among ready operations (priority policy)."""
    by_rank: NDArray[np.int32]
    """int32[ops]: the operation of each rank."""
    n_inputs: NDArray[np.int32]
    """int32[ops]: distinct tensors read."""
    in_start: NDArray[np.int32]
    in_edge: NDArray[np.int32]
    """Compressed rows: the edges that each operation reads."""
    out_start: NDArray[np.int32]
    out_tensor: NDArray[np.int32]
    """Compressed rows: the tensors that each operation produces."""
    use_start: NDArray[np.int32]
    consumer: NDArray[np.int32]
    """Compressed rows: the operations that read each tensor."""
    size: NDArray[np.int64]
    """int64[tensors]: bytes that a transfer moves."""
    handed_on: NDArray[np.bool_]
    """bool[tensors]: what crosses without a copy (``at_once``)."""
    held: NDArray[np.int64]
    """int64[tensors]: bytes that a tensor takes in memory."""
    alias_edge: NDArray[np.int32]
    """int32[tensors]: edge by which the producer reads the tensor whose buffer is shared, or -1."""
    shared: NDArray[np.bool_]
    """bool[tensors]: whether its buffer may have several tensors."""
    persistent: NDArray[np.int64]
    """int64[ops]: bytes."""
    taken: NDArray[np.int64]
    """int64[ops]: bytes of its outputs, but of those that lie in what it reads (``bounded``)."""
    returned: NDArray[np.int64]
    """int64[ops]: bytes that are free when it ends, wherever other operations are: of what it alone
    reads, and of outputs that nobody reads, if they share no buffer (``bounded``)."""
    rest: NDArray[np.int64]
    """int64[ops, kinds]: nanoseconds a device pauses after an operation (``resting``)."""
    block: NDArray[np.int64]
    """int64[ops]: bytes of its outputs (``blocks``)."""
    unread: NDArray[np.int64]
    """int64[ops]: bytes of its outputs that are freed when it ends (``blocks``)."""
    n_reads: NDArray[np.int32]
    """int32[ops]: edges that read its outputs."""
    edge_source: NDArray[np.int32]
    """int32[edges]: the operation that produces what is read."""


def flat_graph(problem: Problem, policy: str, semantics: Semantics) -> FlatGraph:
    """Flatten the graph of a problem, with what control edges carry under these semantics."""
    graph, size = with_control(problem.graph, semantics.control)
    firsts, kind = problem.kinds
    # Picked columns come in Fortran's order, which is a type of its own: all would compile twice.
    seconds = np.ascontiguousarray(problem.seconds[:, firsts])
    duration = nanoseconds(seconds)
    rank = run_order(graph, duration, policy)
    tensors, consumers = graph.edges
    in_start, in_edge = csr(consumers, np.arange(len(consumers)), graph.n_ops)
    out_start, out_tensor = graph.outputs
    rest = np.where(seconds > 0, np.int64(np.rint(1e9 * semantics.rest)), 0)
    block, unread = _blocks(graph, semantics)
    alias_of = graph.alias_of if semantics.aliases else np.full(graph.n_tensors, -1, np.int32)
    read = np.diff(graph.consumer_offsets) > 0
    edge_source = graph.producer[tensors]
    lanes = lanes_of(problem.machine, semantics)
    held = np.where(read, size, 0) if semantics.unread == "ignored" else size
    shared = _shared(alias_of)
    return FlatGraph(
        duration=duration,
        kind=kind.astype(np.int32),
        first_lane=np.concatenate([[0], np.cumsum(lanes)]).astype(np.int32),
        lane_device=np.repeat(np.arange(len(lanes), dtype=np.int32), lanes),
        rank=rank,
        by_rank=np.argsort(rank).astype(np.int32),
        n_inputs=np.diff(in_start).astype(np.int32),
        in_start=in_start.astype(np.int32),
        in_edge=in_edge,
        out_start=out_start.astype(np.int32),
        out_tensor=out_tensor,
        use_start=graph.consumer_offsets.astype(np.int32),
        consumer=np.array(consumers, np.int32),
        size=size,
        handed_on=np.array(problem.handed_on),
        held=held,
        alias_edge=_alias_edges(alias_of, graph.producer, tensors, consumers),
        shared=shared,
        persistent=np.array(graph.persistent_bytes, np.int64) * semantics.variables,
        taken=_sums(graph.producer, np.where(alias_of >= 0, 0, held), graph.n_ops),
        returned=_returned(graph, np.where(shared, 0, held)),
        rest=rest,
        block=block,
        unread=unread,
        n_reads=np.bincount(edge_source, minlength=graph.n_ops).astype(np.int32),
        edge_source=edge_source.astype(np.int32),
    )


def _sums(ops: Ints, size: Ints, n_ops: int) -> NDArray[np.int64]:
    """int64[n_ops]: sums of int64[tensors], each for its operation."""
    sums = np.zeros(n_ops, np.int64)
    np.add.at(sums, ops, size)
    return sums


def _returned(graph: OpGraph, size: Ints) -> NDArray[np.int64]:
    """int64[ops]: bytes of tensors, int64[tensors], that are of no use when an operation ends."""
    readers = np.diff(graph.consumer_offsets)
    alone = readers == 1
    only = graph.consumers[graph.consumer_offsets[:-1][alone]]
    returned = _sums(only, size[alone], graph.n_ops)
    return returned + _sums(graph.producer[readers == 0], size[readers == 0], graph.n_ops)


def _blocks(graph: OpGraph, semantics: Semantics) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes of every operation's outputs; those of them that are freed when it ends."""
    block = np.zeros(graph.n_ops, np.int64)
    if semantics.memory == "first-output":
        starts, tensors = graph.outputs
        some = np.diff(starts) > 0
        block[some] = graph.tensor_bytes[tensors[starts[:-1][some]]]
    else:
        block = _sums(graph.producer, graph.tensor_bytes, graph.n_ops)
    read = np.zeros(graph.n_ops, np.bool_)
    read[graph.producer[graph.edges[0]]] = True
    return block, np.where(read | (semantics.unread == "kept"), 0, block)


def _shared(alias_of: Ints) -> NDArray[np.bool_]:
    shared = np.asarray(alias_of >= 0)
    shared[alias_of[alias_of >= 0]] = True
    return shared


def _alias_edges(
    alias_of: Ints, producer: Ints, tensors: Ints, consumers: Ints
) -> NDArray[np.int32]:
    """The edge (shared tensor, producer of the sharing one), found by binary search."""
    edges = np.full(len(alias_of), -1, np.int32)
    sharing = np.flatnonzero(alias_of >= 0)
    n = int(max(producer.max(initial=0), consumers.max(initial=0))) + 1
    keys = tensors.astype(np.int64) * n + consumers
    wanted = alias_of[sharing].astype(np.int64) * n + producer[sharing]
    edges[sharing] = np.searchsorted(keys, wanted)
    return edges
