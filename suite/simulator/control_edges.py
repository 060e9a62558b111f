"""What crosses between devices for a control edge, by the semantics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from suite.core.graph import OpGraph
from suite.simulator.semantics import HEADER


def with_control(graph: OpGraph, control: str) -> tuple[OpGraph, NDArray[np.int64]]:
    """The graph with its control edges as the semantics has them; bytes of its tensors, int64.

    A control edge is a tensor of 0 bytes. Under ``output`` its readers read the producer's first
    tensor instead; under ``header`` it has 4 bytes.
    """
    size = np.array(graph.tensor_bytes, np.int64)
    if control == "header":
        return graph, np.where(size == 0, HEADER, size)
    return (_reading_outputs(graph) if control == "output" else graph), size


def read_instead(graph: OpGraph) -> NDArray[np.int64]:
    """int64[tensors]: what readers of each tensor read under ``output``."""
    if not graph.n_tensors:
        return np.zeros(0, np.int64)
    starts, outputs = graph.outputs
    first = outputs[np.minimum(starts[:-1], len(outputs) - 1)][graph.producer]
    return np.where(graph.tensor_bytes == 0, first, np.arange(graph.n_tensors))


def _reading_outputs(graph: OpGraph) -> OpGraph:
    if not graph.n_tensors:
        return graph
    tensors, consumers = graph.edges
    edges = np.unique(read_instead(graph)[tensors].astype(np.int64) * graph.n_ops + consumers)
    offsets = np.searchsorted(edges, np.arange(graph.n_tensors + 1) * graph.n_ops)
    nothing = np.full(graph.n_tensors, -1, np.int32)
    return replace(graph, consumer_offsets=offsets, consumers=edges % graph.n_ops, alias_of=nothing)
