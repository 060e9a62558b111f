"""OpGraph <-> the ``placebench-graph-1`` JSON object of docs/formats.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypedDict, cast

import numpy as np

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.formats.machine_toml import KINDS
from suite.formats.schema import Fields, check_fields, shown

GRAPH = "placebench-graph-1"

_TOP: Fields = {"format": (str,), "name": (str,), "ops": (list,), "tensors": (list,)}
OP: Fields = {
    "name": (str,),
    "type": (str,),
    "flops": (int, float),
    "bytes_touched": (int, float),
    "persistent_bytes": (int,),
    "gpu_kernel": (bool,),
    "colocation": (str, type(None)),
    "seconds": (dict,),
}
TENSOR: Fields = {
    "producer": (str,),
    "consumers": (list,),
    "bytes": (int,),
    "shape": (list,),
    "alias_of": (int, type(None)),
    "host_memory": (bool,),
}


class _Op(TypedDict, total=False):
    """An operation whose fields have been checked."""

    name: str
    type: str
    flops: float
    bytes_touched: float
    persistent_bytes: int
    gpu_kernel: bool
    colocation: str | None
    seconds: dict[str, float]


class _Tensor(TypedDict, total=False):
    """A tensor whose fields have been checked."""

    producer: str
    consumers: list[object]
    bytes: int
    shape: list[int]
    alias_of: int | None
    host_memory: bool


def graph_from_json(data: Mapping[str, object]) -> OpGraph:
    """Build a graph from a parsed ``placebench-graph-1`` object; InputError if it is wrong."""
    check_fields(data, _TOP, ("ops", "tensors"), "the graph")
    ops, tensors = cast(list[_Op], data["ops"]), cast(list[_Tensor], data["tensors"])
    for i, op in enumerate(ops):
        check_fields(op, OP, ("name", "type"), f"op {i}")
        _check_op(op, i)
    for i, tensor in enumerate(tensors):
        check_fields(tensor, TENSOR, ("producer", "consumers"), f"tensor {i}")
        _check_tensor(tensor, i, len(tensors))
    index = {op["name"]: i for i, op in enumerate(ops)}
    kinds = sorted({kind for op in ops for kind in op.get("seconds", {})})
    return OpGraph.create(
        str(data.get("name", "graph")),
        [op["name"] for op in ops],
        [op["type"] for op in ops],
        [_find(index, t["producer"], i) for i, t in enumerate(tensors)],
        [(i, _find(index, name, i)) for i, t in enumerate(tensors) for name in t["consumers"]],
        colocation=[op.get("colocation") for op in ops],
        flops=[op.get("flops", 0.0) for op in ops],
        bytes_touched=[op.get("bytes_touched", 0.0) for op in ops],
        persistent_bytes=[op.get("persistent_bytes", 0) for op in ops],
        gpu_kernel=[op.get("gpu_kernel", True) for op in ops],
        tensor_bytes=[t.get("bytes", 0) for t in tensors],
        alias_of=[-1 if (alias := t.get("alias_of")) is None else alias for t in tensors],
        host_memory=[t.get("host_memory", False) for t in tensors],
        shapes=[t.get("shape", []) for t in tensors],
        seconds={kind: [op.get("seconds", {}).get(kind, math.nan) for op in ops] for kind in kinds},
    )


def _find(index: Mapping[str, int], name: object, tensor: int) -> int:
    if not isinstance(name, str) or name not in index:
        raise InputError(f"tensor {tensor} names operation {shown(name)}, which is not in ops")
    return index[name]


def _check_op(op: _Op, i: int) -> None:
    for key in ("name", "type"):
        if not op[key] or "\n" in op[key]:
            raise InputError(f"op {i}: {key} is {shown(op[key])}; give one line of text")
    for kind, value in op.get("seconds", {}).items():
        if kind not in KINDS and kind.lower() in KINDS:
            raise InputError(
                f"operation {op['name']!r} has seconds on {kind!r}; write {kind.lower()!r}"
            )
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < 1e300:
            raise InputError(
                f"operation {op['name']!r} takes {shown(value)} seconds on {kind};"
                " give a finite time >= 0"
            )


def _check_tensor(tensor: _Tensor, i: int, count: int) -> None:
    for size in tensor.get("shape", []):
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**31:
            raise InputError(f"tensor {i}: shape has {shown(size)}; give whole numbers >= 0")
    alias = tensor.get("alias_of")
    if alias is not None and not 0 <= alias < count:
        raise InputError(f"tensor {i}: alias_of is {alias}, but tensors are 0..{count - 1}")


def graph_to_json(graph: OpGraph) -> dict[str, Any]:
    """Return a graph as a ``placebench-graph-1`` object, every field written out."""
    members = np.bincount(graph.colocation, minlength=graph.n_classes).tolist()
    ops: list[dict[str, Any]] = []
    columns = zip(
        graph.op_names,
        graph.op_types,
        graph.flops.tolist(),
        graph.bytes_touched.tolist(),
        graph.persistent_bytes.tolist(),
        graph.gpu_kernel.tolist(),
        graph.colocation.tolist(),
        strict=True,
    )
    for name, kind, flops, touched, persistent, gpu_kernel, index in columns:
        op = {
            "name": name,
            "type": kind,
            "flops": flops,
            "bytes_touched": touched,
            "persistent_bytes": persistent,
            "gpu_kernel": gpu_kernel,
            "colocation": str(index) if members[index] > 1 else None,
        }
        ops.append(op)
    for kind, seconds in graph.seconds.items():
        for i in np.flatnonzero(~np.isnan(seconds)).tolist():
            ops[i].setdefault("seconds", {})[kind] = float(seconds[i])
    return {"format": GRAPH, "name": graph.name, "ops": ops, "tensors": _tensors(graph)}


def _tensors(graph: OpGraph) -> list[dict[str, Any]]:
    names, consumers = graph.op_names, graph.consumers.tolist()
    starts = graph.consumer_offsets.tolist()
    columns = zip(
        graph.producer.tolist(),
        graph.tensor_bytes.tolist(),
        pairwise(starts),
        graph.shapes.tolist(),
        graph.host_memory.tolist(),
        graph.alias_of.tolist(),
        strict=True,
    )
    tensors = []
    for producer, size, (first, end), shape, host_memory, alias in columns:
        tensor: dict[str, Any] = {
            "producer": names[producer],
            "bytes": size,
            "consumers": [names[op] for op in consumers[first:end]],
            "shape": [d for d in shape if d >= 0],
            "host_memory": host_memory,
        }
        if alias >= 0:
            tensor["alias_of"] = alias
        tensors.append(tensor)
    return tensors
