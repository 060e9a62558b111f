"""OpGraph: the operations of a training step, the tensors between them, and what stays together.

Arrays, one entry per operation (in a topological order) or per tensor; nothing can be changed after
construction, and a graph that exists is valid.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints, csr, digest, frozen
from suite.core.errors import InputError

if TYPE_CHECKING:
    import networkx

NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class OpGraph:
    """A dataflow graph ready to be placed.

    Build one with :meth:`create`, which also sorts the operations. A control edge is a tensor of
    0 bytes. A consumer is listed once per tensor, however many of its inputs the tensor feeds.
    """

    name: str
    op_names: tuple[str, ...]
    op_types: tuple[str, ...]
    flops: Floats
    """float64[ops]: floating-point operations (FLOP)."""
    bytes_touched: Floats
    """float64[ops]: bytes read and written in device memory."""
    persistent_bytes: Ints
    """int64[ops]: bytes resident during the whole step (variables)."""
    gpu_kernel: Bools
    """bool[ops]: whether a GPU can run it; every operation has a CPU kernel."""
    colocation: Ints
    """int32[ops]: colocation class, 0..n_classes-1; the ops of one class share a device."""
    producer: Ints
    """int32[tensors]: the operation whose output the tensor is."""
    tensor_bytes: Ints
    """int64[tensors]."""
    alias_of: Ints
    """int32[tensors]: the tensor whose buffer it shares on its producer's device, or -1."""
    host_memory: Bools
    """bool[tensors]: whether TensorFlow keeps it in host memory even beside a GPU."""
    shapes: Ints
    """int32[tensors, rank]: dimensions, padded with -1."""
    consumer_offsets: Ints
    """int64[tensors + 1]: tensor t is read by ``consumers[consumer_offsets[t]:...[t + 1]]``."""
    consumers: Ints
    """int32[edges]: operations, ascending within a tensor."""
    seconds: Mapping[str, Floats] = field(default_factory=lambda: NONE)
    """Device kind -> float64[ops]: op times that override the cost model, NaN where it decides."""
    metadata: Mapping[str, Any] = field(default_factory=lambda: NONE)
    """Facts for reports (op counts before pruning, source); never read by a placer."""

    def __post_init__(self) -> None:
        """Refuse an inconsistent graph with the operation's name (InputError)."""
        for name, dtype in ARRAYS.items():
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
        seconds = {k: frozen(v, np.float64) for k, v in sorted(self.seconds.items())}
        object.__setattr__(self, "seconds", MappingProxyType(seconds))
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))
        _check(self)

    @classmethod
    def create(
        cls,
        name: str,
        op_names: Sequence[str],
        op_types: Sequence[str],
        producer: Any,
        consumers: Iterable[tuple[int, int]],
        *,
        n_tensors: int | None = None,
        colocation: Sequence[str | None] | None = None,
        flops: Any = 0.0,
        bytes_touched: Any = 0.0,
        persistent_bytes: Any = 0,
        gpu_kernel: Any = True,
        tensor_bytes: Any = 0,
        alias_of: Any = -1,
        host_memory: Any = False,
        shapes: Sequence[Sequence[int]] | None = None,
        seconds: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> OpGraph:
        """Build a graph from operations in any order; scalars are broadcast.

        ``producer`` gives each tensor's operation, ``consumers`` the pairs (tensor, operation),
        ``colocation`` a label per operation (None: free to go anywhere alone). The order given is
        kept where it is topological, otherwise the smallest-index-first one is used; tensors keep
        theirs. Raises InputError on cycles, dangling ids, negative sizes, repeated names.
        """
        n, m = len(op_names), len(producer) if n_tensors is None else n_tensors
        producer = np.asarray(producer, np.int64).reshape(-1)
        pairs = np.array(sorted(set(consumers)), np.int64).reshape(-1, 2)
        _check_ids(op_names, producer, pairs, m)
        order = _topological_order(op_names, producer, pairs)
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        offsets, grouped = csr(pairs[:, 0], rank[pairs[:, 1]], m)

        def per_op(values: Any, dtype: Any) -> NDArray[Any]:
            return np.broadcast_to(np.asarray(values, dtype), (n,))[order]

        labels = [None] * n if colocation is None else list(colocation)
        return cls(
            name=name,
            op_names=tuple(op_names[i] for i in order),
            op_types=tuple(op_types[i] for i in order),
            flops=per_op(flops, np.float64),
            bytes_touched=per_op(bytes_touched, np.float64),
            persistent_bytes=per_op(persistent_bytes, np.int64),
            gpu_kernel=per_op(gpu_kernel, np.bool_),
            colocation=_dense_classes([labels[i] for i in order]),
            producer=rank[producer],
            tensor_bytes=np.broadcast_to(np.asarray(tensor_bytes, np.int64), (m,)),
            alias_of=np.broadcast_to(np.asarray(alias_of, np.int32), (m,)),
            host_memory=np.broadcast_to(np.asarray(host_memory, np.bool_), (m,)),
            shapes=_padded([()] * m if shapes is None else shapes),
            consumer_offsets=offsets,
            consumers=grouped,
            seconds={k: per_op(v, np.float64) for k, v in (seconds or {}).items()},
            metadata=metadata or {},
        )

    @property
    def n_ops(self) -> int:
        """Number of operations."""
        return len(self.op_names)

    @property
    def n_tensors(self) -> int:
        """Number of tensors, control edges included."""
        return len(self.producer)

    @cached_property
    def n_classes(self) -> int:
        """Number of colocation classes."""
        return int(self.colocation.max()) + 1 if self.n_ops else 0

    @cached_property
    def classes(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The operations of each class: (offsets int64[n_classes + 1], operations int32[ops])."""
        return csr(self.colocation, np.arange(self.n_ops), self.n_classes)

    @cached_property
    def edges(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """One entry per (tensor, consumer): (tensor int32[edges], consumer int32[edges])."""
        counts = np.diff(self.consumer_offsets)
        tensors = np.repeat(np.arange(self.n_tensors, dtype=np.int32), counts)
        return tensors, np.asarray(self.consumers, np.int32)

    @cached_property
    def outputs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The tensors each operation produces: (offsets int64[ops + 1], tensors int32[tensors])."""
        return csr(self.producer, np.arange(self.n_tensors), self.n_ops)

    @cached_property
    def inputs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The tensors each operation reads: (offsets int64[ops + 1], tensors int32[edges])."""
        tensors, consumers = self.edges
        return csr(consumers, tensors, self.n_ops)

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever anything a placement depends on does."""
        arrays = (getattr(self, name) for name in ARRAYS)
        return digest([self.op_names, self.op_types, *arrays, *sum(self.seconds.items(), ())])

    def with_costs(self, flops: Floats, bytes_touched: Floats) -> OpGraph:
        """Return the same graph with other FLOP and byte counts (float64[ops] each)."""
        return replace(self, flops=flops, bytes_touched=bytes_touched)

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a MultiDiGraph of operation names; edges carry ``tensor`` and ``bytes``."""
        import networkx

        graph = networkx.MultiDiGraph(name=self.name)
        for i, op in enumerate(self.op_names):
            graph.add_node(
                op,
                type=self.op_types[i],
                flops=float(self.flops[i]),
                bytes_touched=float(self.bytes_touched[i]),
                persistent_bytes=int(self.persistent_bytes[i]),
                gpu_kernel=bool(self.gpu_kernel[i]),
                colocation=int(self.colocation[i]),
            )
        for tensor, consumer in zip(*self.edges, strict=True):
            graph.add_edge(
                self.op_names[self.producer[tensor]],
                self.op_names[consumer],
                tensor=int(tensor),
                bytes=int(self.tensor_bytes[tensor]),
            )
        return graph

    @classmethod
    def from_networkx(cls, graph: networkx.MultiDiGraph) -> OpGraph:
        """Build a graph from a directed networkx graph; the inverse of :meth:`to_networkx`.

        Node attributes are optional (``type``, ``flops``, ...). Edges that share a ``tensor``
        attribute and a producer are one tensor; an edge without one is a tensor of its own.
        Aliases, shapes and unread tensors do not survive the round trip.
        """
        names = [str(node) for node in graph.nodes]
        index = {node: i for i, node in enumerate(graph.nodes)}
        tensors: dict[Any, int] = {}
        producer: list[int] = []
        sizes: list[int] = []
        consumers: list[tuple[int, int]] = []
        for u, v, data in sorted(
            graph.edges(data=True), key=lambda e: (e[2].get("tensor", -1), index[e[0]], index[e[1]])
        ):
            key = (u, data["tensor"]) if "tensor" in data else (u, v, len(producer))
            if key not in tensors:
                tensors[key] = len(producer)
                producer.append(index[u])
                sizes.append(data.get("bytes", 0))
            consumers.append((tensors[key], index[v]))

        def attribute(key: str, default: Any) -> list[Any]:
            return [data.get(key, default) for _, data in graph.nodes(data=True)]

        labels = attribute("colocation", None)
        return cls.create(
            graph.name or "networkx",
            names,
            attribute("type", "Op"),
            producer,
            consumers,
            colocation=[None if label is None else str(label) for label in labels],
            flops=attribute("flops", 0.0),
            bytes_touched=attribute("bytes_touched", 0.0),
            persistent_bytes=attribute("persistent_bytes", 0),
            gpu_kernel=attribute("gpu_kernel", True),
            tensor_bytes=sizes,
        )


ARRAYS: dict[str, Any] = {
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


def _padded(shapes: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    width = max((len(shape) for shape in shapes), default=0)
    padded = np.full((len(shapes), width), -1, np.int32)
    for row, shape in zip(padded, shapes, strict=True):
        row[: len(shape)] = shape
    return padded


def _dense_classes(labels: Sequence[str | None]) -> NDArray[np.int32]:
    seen: dict[Any, int] = {}
    keys = ((i,) if label is None else label for i, label in enumerate(labels))
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.int32)


def _check_ids(names: Sequence[str], producer: Ints, pairs: Ints, n_tensors: int) -> None:
    n = len(names)
    for tensor in np.flatnonzero((producer < 0) | (producer >= n))[:1]:
        raise InputError(f"tensor {tensor} has producer {producer[tensor]}, but ops are 0..{n - 1}")
    bad = (pairs < 0).any(axis=1) | (pairs[:, 0] >= n_tensors) | (pairs[:, 1] >= n)
    for tensor, op in pairs[bad][:1]:
        raise InputError(
            f"tensor {tensor} names consumer {op}, but there are {n_tensors} tensors and {n} ops"
        )


def _topological_order(names: Sequence[str], producer: Ints, pairs: Ints) -> NDArray[np.int64]:
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


def _check(graph: OpGraph) -> None:
    n, m = graph.n_ops, graph.n_tensors
    if len(set(graph.op_names)) < n:
        twice = next(x for i, x in enumerate(graph.op_names) if x in graph.op_names[:i])
        raise InputError(f"two operations are named {twice!r}; names must be unique")
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
    _check_edges(graph)
    _check_aliases(graph)


def _check_edges(graph: OpGraph) -> None:
    n = graph.n_ops
    for ids, what in ((graph.producer, "producer"), (graph.consumers, "consumer")):
        for bad in ids[(ids < 0) | (ids >= n)][:1]:
            raise InputError(f"{graph.name}: a tensor's {what} is operation {bad} of {n}")
    tensors, consumers = graph.edges
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
    reads = set(zip(consumers.tolist(), tensors.tolist(), strict=True))
    for tensor in np.flatnonzero(graph.alias_of >= 0):
        op, target = int(graph.producer[tensor]), int(graph.alias_of[tensor])
        if (op, target) not in reads:
            raise InputError(
                f"a tensor of operation {graph.op_names[op]!r} shares the buffer of tensor"
                f" {target}, which that operation does not read; drop alias_of or add the edge"
            )
