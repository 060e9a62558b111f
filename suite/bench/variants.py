"""Random variants of a problem, to train on: its graph cut, scaled and rewired.

A policy that has seen a dozen graphs may know them by heart. Variants have other sizes, other
shares of computing and sending, and other neighbours. Not from a paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints, csr
from suite.core.graph import OpGraph
from suite.core.problem import Problem

LEAST_KEPT = 0.5
"""Share of the operations that a cut keeps at least."""
TYPE_SCALE = 0.5
"""Deviation of the logarithm of each type's factor on its operations' times."""
SIZES = 0.25, 2.0
"""The factor on all tensors lies between these; variables are scaled by it, but never up, so that
what fits in memory still may."""
REWIRED = 0.05
"""Share of the inputs that are exchanged for another tensor of the same shape."""


def variant(problem: Problem, number: int, seed: int) -> Problem:
    """The variant of this number (1, 2, ...) of a problem, on the same machine.

    It has neither a human expert nor hand-made groups, which know names of the whole graph.
    """
    rng = np.random.default_rng([seed, number])
    graph = rewired(scaled(cut(problem.graph, rng), rng), rng)
    return Problem.create(replace(graph, name=f"{graph.name} (variant {number})"), problem.machine)


def cut(graph: OpGraph, rng: np.random.Generator) -> OpGraph:
    """Keep the variables, and a stretch of the other operations in their topological order.

    What the stretch reads of operations before it is there when the step begins.
    """
    size = int(np.ceil(rng.uniform(LEAST_KEPT, 1) * graph.n_ops))
    first = rng.integers(graph.n_ops - size + 1)
    number = np.arange(graph.n_ops)
    kept = np.flatnonzero(
        ((number >= first) & (number < first + size)) | (graph.persistent_bytes > 0)
    )
    op_now, tensor_now = np.full(graph.n_ops, -1), np.full(graph.n_tensors, -1)
    op_now[kept] = np.arange(len(kept))
    made = np.flatnonzero(op_now[graph.producer] >= 0)
    tensor_now[made] = np.arange(len(made))
    tensors, consumers = graph.edges
    inside = (tensor_now[tensors] >= 0) & (op_now[consumers] >= 0)
    offsets, readers = csr(
        tensor_now[tensors[inside]], op_now[consumers[inside]].astype(np.int64), len(made)
    )
    alias = graph.alias_of[made]
    return OpGraph(
        name=graph.name,
        op_names=tuple(graph.op_names[op] for op in kept),
        op_types=tuple(graph.op_types[op] for op in kept),
        flops=graph.flops[kept],
        bytes_touched=graph.bytes_touched[kept],
        persistent_bytes=graph.persistent_bytes[kept],
        gpu_kernel=graph.gpu_kernel[kept],
        colocation=np.unique(graph.colocation[kept], return_inverse=True)[1],
        producer=op_now[graph.producer[made]],
        tensor_bytes=graph.tensor_bytes[made],
        alias_of=np.where(alias >= 0, tensor_now[alias], -1),
        host_memory=graph.host_memory[made],
        shapes=graph.shapes[made],
        consumer_offsets=offsets,
        consumers=readers,
        seconds={kind: times[kept] for kind, times in graph.seconds.items()},
    )


def scaled(graph: OpGraph, rng: np.random.Generator) -> OpGraph:
    """Multiply times by a factor of each type of operation, and sizes by one of the graph."""
    kinds = np.unique(np.array(graph.op_types), return_inverse=True)[1]
    factor = np.exp(rng.normal(0, TYPE_SCALE, int(kinds.max(initial=0)) + 1))[kinds]
    size = float(np.exp(rng.uniform(*np.log(SIZES))))
    return replace(
        graph,
        flops=graph.flops * factor,
        bytes_touched=graph.bytes_touched * factor,
        seconds={kind: times * factor for kind, times in graph.seconds.items()},
        tensor_bytes=np.rint(graph.tensor_bytes * size).astype(np.int64),
        persistent_bytes=np.rint(graph.persistent_bytes * min(1.0, size)).astype(np.int64),
    )


def rewired(graph: OpGraph, rng: np.random.Generator) -> OpGraph:
    """Let some operations read another tensor of the same shape, made before them.

    Control edges stay, and so do tensors whose buffer the operation passes on.
    """
    tensors, consumers = graph.edges
    kind = _alike(graph)
    producer = graph.producer.astype(np.int64)
    passed_on = set(zip(graph.alias_of.tolist(), graph.producer.tolist(), strict=True))
    read = set(zip(tensors.tolist(), consumers.tolist(), strict=True))
    # In the order of their producers, so that those made before an operation come first.
    order = np.argsort(producer, kind="stable")
    starts, ranks = csr(kind[order], np.arange(len(order)), int(kind.max(initial=-1)) + 1)
    by_kind = np.split(order[ranks], starts[1:-1])
    sources = tensors.astype(np.int64)
    drawn = np.flatnonzero((graph.tensor_bytes[tensors] > 0) & (rng.random(len(tensors)) < REWIRED))
    for edge in drawn.tolist():
        tensor, op = int(sources[edge]), int(consumers[edge])
        some = by_kind[kind[tensor]]
        before = int(np.searchsorted(producer[some], op))
        other = int(some[rng.integers(before)])
        if (tensor, op) not in passed_on and (other, op) not in read:
            read.add((other, op))
            sources[edge] = other
    offsets, readers = csr(sources, consumers.astype(np.int64), graph.n_tensors)
    return replace(graph, consumer_offsets=offsets, consumers=readers)


def _alike(graph: OpGraph) -> NDArray[np.int64]:
    """int64[tensors]: a number for each combination of shape, bytes and kind of memory."""
    facts: Ints = np.column_stack([graph.shapes, graph.tensor_bytes, graph.host_memory])
    return np.unique(facts, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
