"""OpGraph: the operations of a training step, the tensors between them, and what stays together.

Arrays, one entry per operation (in a topological order) or per tensor; nothing can be changed after
construction, and a graph that exists is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from suite.core.arrays import Bools, Floats, Ints, csr, digest, frozen
from suite.core.graph_checks import ARRAYS, check_graph, check_ids, topological_order

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
        check_graph(self)

    @classmethod
    def create(
        cls,
        name: str,
        op_names: Sequence[str],
        op_types: Sequence[str],
        producer: ArrayLike,
        consumers: Iterable[tuple[int, int]],
        *,
        n_tensors: int | None = None,
        colocation: Sequence[str | None] | None = None,
        flops: ArrayLike = 0.0,
        bytes_touched: ArrayLike = 0.0,
        persistent_bytes: ArrayLike = 0,
        gpu_kernel: ArrayLike = True,
        tensor_bytes: ArrayLike = 0,
        alias_of: ArrayLike = -1,
        host_memory: ArrayLike = False,
        shapes: Sequence[Sequence[int]] | None = None,
        seconds: Mapping[str, ArrayLike] | None = None,
        metadata: Mapping[str, object] | None = None,
    ) -> OpGraph:
        """Build a graph from operations in any order; scalars are broadcast.

        ``producer`` gives each tensor's operation, ``consumers`` the pairs (tensor, operation),
        ``colocation`` a label per operation (None: free to go anywhere alone). The order given is
        kept where it is topological, otherwise the smallest-index-first one is used; tensors keep
        theirs. Raises InputError on cycles, dangling ids, negative sizes, repeated names.
        """
        producers = np.asarray(producer, np.int64).reshape(-1)
        n, m = len(op_names), len(producers) if n_tensors is None else n_tensors
        pairs = np.array(sorted(set(consumers)), np.int64).reshape(-1, 2)
        check_ids(op_names, producers, pairs, m)
        order = topological_order(op_names, producers, pairs)
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        offsets, grouped = csr(pairs[:, 0], rank[pairs[:, 1]], m)

        def per_op(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
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
            producer=rank[producers],
            tensor_bytes=np.broadcast_to(np.asarray(tensor_bytes, np.int64), (m,)),
            alias_of=np.broadcast_to(np.asarray(alias_of, np.int32), (m,)),
            host_memory=np.broadcast_to(np.asarray(host_memory, np.bool_), (m,)),
            shapes=_padded([()] * m if shapes is None else shapes),
            consumer_offsets=offsets,
            consumers=grouped,
            seconds={k: per_op(v, np.float64) for k, v in (seconds or {}).items()},
            metadata=metadata or {},
        )

    @cached_property
    def in_host_memory(self) -> Bools:
        """bool[tensors]: what no GPU's memory ever holds: ``host_memory``, and control edges."""
        return np.asarray(self.host_memory | (self.tensor_bytes == 0))

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
    def leaders(self) -> NDArray[np.int32]:
        """int32[n_classes]: the first operation of each class."""
        offsets, ops = self.classes
        return ops[offsets[:-1]]

    @cached_property
    def cpu_only(self) -> NDArray[np.int64]:
        """int64[...]: the operations that have no GPU kernel, in order."""
        return np.flatnonzero(~self.gpu_kernel)

    @cached_property
    def followers(self) -> NDArray[np.int64]:
        """int64[followers]: the operations that are not the first of their class."""
        return np.flatnonzero(self.leaders[self.colocation] != np.arange(self.n_ops))

    @cached_property
    def followed(self) -> NDArray[np.int64]:
        """int64[followers]: the first operation of each follower's class."""
        return np.asarray(self.leaders[self.colocation[self.followers]], np.int64)

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
    def class_reads(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Who reads a tensor of another class: (tensor int64[pairs], reading class int64[pairs]).

        Sorted; no pair twice, however many operations of a class read a tensor.
        """
        tensors, consumers = self.edges
        classes = self.colocation.astype(np.int64)
        readers = classes[consumers]
        away = readers != classes[self.producer[tensors]]
        # One number for each pair, which sorts faster than pairs do.
        numbers = np.unique(tensors[away].astype(np.int64) * self.n_classes + readers[away])
        return np.divmod(numbers, max(1, self.n_classes))

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever anything a placement depends on does."""
        arrays = (getattr(self, name) for name in ARRAYS)
        return digest([self.op_names, self.op_types, *arrays, *sum(self.seconds.items(), ())])


def _padded(shapes: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    ranks = np.array([len(shape) for shape in shapes], np.int64)
    padded = np.full((len(shapes), int(ranks.max(initial=0))), -1, np.int32)
    there = np.arange(padded.shape[1]) < ranks[:, None]
    padded[there] = [size for shape in shapes for size in shape]
    return padded


def _dense_classes(labels: Sequence[str | None]) -> NDArray[np.int32]:
    seen: dict[Any, int] = {}
    keys = ((i,) if label is None else label for i, label in enumerate(labels))
    return np.array([seen.setdefault(key, len(seen)) for key in keys], np.int32)
