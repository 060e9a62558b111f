"""What makes an OpGraph valid; every refusal names the operation or the tensor (InputError)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike, NDArray

from suite.core.arrays import Bools, Ints, csr
from suite.core.errors import InputError
from suite.core.units import LARGEST

if TYPE_CHECKING:
    from suite.core.graph import OpGraph

ARRAYS: dict[str, DTypeLike] = {
    "flops": np.float64,
    "bytes_touched": np.float64,
    "persistent_bytes": np.int64,
    "gpu_kernel": np.bool_,
    "colocation": np.int32,
    "producer": np.int32,
    "tensor_bytes": np.int64,
    "alias_of": np.int32,
    "host_memory": np.bool_,
    "shapes": np.int32,
    "consumer_offsets": np.int64,
    "consumers": np.int32,
}
"""The array fields of OpGraph and their dtypes."""


def check_ids(names: Sequence[str], producer: Ints, pairs: Ints, n_tensors: int) -> None:
    """Refuse producers and pairs (tensor, consumer) that name what is not there."""
    n = len(names)
    for tensor in np.flatnonzero((producer < 0) | (producer >= n))[:1]:
        raise InputError(f"tensor {tensor} has producer {producer[tensor]}, but ops are 0..{n - 1}")
    bad = (pairs < 0).any(axis=1) | (pairs[:, 0] >= n_tensors) | (pairs[:, 1] >= n)
    for tensor, op in pairs[bad][:1]:
        raise InputError(
            f"tensor {tensor} names consumer {op}, but there are {n_tensors} tensors and {n} ops"
        )


def topological_order(names: Sequence[str], producer: Ints, pairs: Ints) -> NDArray[np.int64]:
    """The identity where it is topological, else the smallest-index-first order (Kahn)."""
    n = len(names)
    sources, targets = producer[pairs[:, 0]], pairs[:, 1]
    if (sources < targets).all():
        return np.arange(n)
    offsets, successors = csr(sources, targets, n)
    waiting = np.bincount(successors, minlength=n)
    ready = [int(i) for i in np.flatnonzero(waiting == 0)]
    order = []
    while ready:
        op = heapq.heappop(ready)
        order.append(op)
        for successor in successors[offsets[op] : offsets[op + 1]]:
            waiting[successor] -= 1
            if not waiting[successor]:
                heapq.heappush(ready, int(successor))
    if len(order) < n:
        cycle = " -> ".join(_a_cycle(names, offsets, successors, waiting > 0))
        raise InputError(f"the graph has a cycle: {cycle}; remove one of these edges")
    return np.array(order, np.int64)


def _a_cycle(names: Sequence[str], offsets: Ints, successors: Ints, left: Bools) -> list[str]:
    """Walk backwards among the operations that never became ready until one repeats."""
    predecessor: dict[int, int] = {}
    for source in np.flatnonzero(left).tolist():
        for successor in successors[offsets[source] : offsets[source + 1]].tolist():
            if left[successor]:
                predecessor.setdefault(successor, source)
    path: list[int] = []
    op = next(iter(predecessor))
    while op not in path:
        path.append(op)
        op = predecessor[op]
    cycle = [names[i] for i in path[path.index(op) :]][::-1]
    shown = cycle if len(cycle) <= 6 else [*cycle[:5], "..."]
    return [*shown, cycle[0]]


def _check_lines(texts: Sequence[str], what: str) -> None:
    """Refuse names or types, whichever ``what`` says, that a file with one a line cannot hold."""
    try:
        lines = "\n".join(texts).encode().decode().splitlines()
    except UnicodeEncodeError as error:
        raise InputError(f"the {what} of an operation is no text: {error}") from None
    if lines != list(texts) or "" in texts:
        odd = next(text for text in texts if text.splitlines() != [text])
        raise InputError(f"the {what} of an operation is {odd!r}; give one line of text")


def check_graph(graph: OpGraph) -> None:
    """Refuse arrays of wrong shapes or lengths, sizes below 0, and edges that lead nowhere.

    Names, types and kinds of devices must be such that files can hold them, and all sizes together
    such that sums are exact.
    """
    n, m = graph.n_ops, graph.n_tensors
    if len(set(graph.op_names)) < n:
        _refuse_twice(graph.op_names)
    _check_lines(graph.op_names, "name")
    _check_lines(sorted(set(graph.op_types)), "type")  # of a million operations there are few
    for kind in graph.seconds:
        if not kind.isprintable():
            raise InputError(f"{graph.name}: there are seconds on {kind!r}; give a kind of device")
    for name in ARRAYS:
        rank, shape = 1 + (name == "shapes"), getattr(graph, name).shape
        if len(shape) != rank:
            raise InputError(f"{graph.name}: {name} has shape {shape}; give {rank} dimension(s)")
    lengths = {"op_types": n, "flops": n, "bytes_touched": n, "persistent_bytes": n}
    lengths |= {"gpu_kernel": n, "colocation": n, "tensor_bytes": m, "alias_of": m}
    lengths |= {"host_memory": m, "shapes": m, "consumer_offsets": m + 1}
    for name, expected in lengths.items():
        if len(getattr(graph, name)) != expected:
            got = len(getattr(graph, name))
            raise InputError(f"{graph.name}: {name} has {got} entries, not {expected}")
    for name in ("flops", "bytes_touched", "persistent_bytes"):
        values = getattr(graph, name)
        for op in np.flatnonzero(~(values >= 0) | ~np.isfinite(values))[:1]:
            raise InputError(f"operation {graph.op_names[op]!r} has {name} {values[op]}; give >= 0")
    for kind, seconds in graph.seconds.items():
        if seconds.shape != (n,):
            raise InputError(f"{graph.name}: seconds on {kind} have shape {seconds.shape}, not {n}")
        for op in np.flatnonzero((seconds < 0) | np.isinf(seconds))[:1]:
            raise InputError(
                f"operation {graph.op_names[op]!r} takes {seconds[op]} seconds on {kind};"
                " give a finite time >= 0"
            )
    for tensor in np.flatnonzero(graph.tensor_bytes < 0)[:1]:
        raise InputError(
            f"a tensor of operation {graph.op_names[graph.producer[tensor]]!r} has"
            f" {graph.tensor_bytes[tensor]} bytes; give >= 0"
        )
    total = float(np.sum(graph.persistent_bytes, dtype=np.float64))
    total += float(np.sum(graph.tensor_bytes, dtype=np.float64))
    if total > LARGEST:
        raise InputError(f"the graph holds {total:.3g} bytes in all; check units: give bytes")
    classes = np.unique(graph.colocation)
    if not np.array_equal(classes, np.arange(len(classes))):
        raise InputError(f"{graph.name}: colocation classes are not numbered 0, 1, ... without gap")
    _check_edges(graph)
    _check_aliases(graph)


def _refuse_twice(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two operations are named {name!r}; names must be unique")
        seen.add(name)


def _check_edges(graph: OpGraph) -> None:
    n = graph.n_ops
    for ids, what in ((graph.producer, "producer"), (graph.consumers, "consumer")):
        for bad in ids[(ids < 0) | (ids >= n)][:1]:
            raise InputError(f"{graph.name}: a tensor's {what} is operation {bad} of {n}")
    offsets = graph.consumer_offsets
    if offsets[0] != 0 or offsets[-1] != len(graph.consumers) or (np.diff(offsets) < 0).any():
        raise InputError(
            f"{graph.name}: consumer_offsets must rise from 0 to {len(graph.consumers)}, the number"
            " of consumers"
        )
    tensors, consumers = graph.edges
    turned = (consumers[1:] < consumers[:-1]) & (tensors[1:] == tensors[:-1])
    for edge in np.flatnonzero(turned)[:1]:
        raise InputError(
            f"{graph.name}: the consumers of tensor {tensors[edge]} are not in ascending order:"
            f" {consumers[edge]} comes before {consumers[edge + 1]}"
        )
    backward = graph.producer[tensors] >= consumers
    for edge in np.flatnonzero(backward)[:1]:
        source = graph.op_names[graph.producer[tensors[edge]]]
        target = graph.op_names[consumers[edge]]
        raise InputError(
            f"operation {target!r} reads {source!r}, which does not come before it:"
            " sort the operations, or break the cycle"
        )


def _check_aliases(graph: OpGraph) -> None:
    tensors, consumers = graph.edges
    sharing = np.flatnonzero(graph.alias_of >= 0)
    ops, targets = (ids[sharing].astype(np.int64) for ids in (graph.producer, graph.alias_of))
    # Each key is an edge; one that is never found stands behind them.
    n = max(1, graph.n_ops)
    keys = np.append(np.sort(tensors.astype(np.int64) * n + consumers), -1)
    wanted = targets * n + ops
    reads = keys[np.searchsorted(keys[:-1], wanted)] == wanted
    for op, target in zip(ops[~reads][:1], targets[~reads][:1], strict=True):
        raise InputError(
            f"a tensor of operation {graph.op_names[op]!r} shares the buffer of tensor"
            f" {target}, which that operation does not read; drop alias_of or add the edge"
        )
