"""Graphs and placements as JSON, so that other tools can join without TensorFlow.

The formats are in docs/formats.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from suite.errors import InputError
from suite.files import atomic
from suite.graph import OpGraph
from suite.graph_file import load_graph_file
from suite.placement import Placement
from suite.problem import Problem

GRAPH = "placebench-graph-1"
PLACEMENT = "placebench-placement-1"

_OP: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "type": (str,),
    "flops": (int, float),
    "bytes_touched": (int, float),
    "persistent_bytes": (int,),
    "gpu_kernel": (bool,),
    "colocation": (str, type(None)),
    "seconds": (dict,),
}
_TENSOR: dict[str, tuple[type, ...]] = {
    "producer": (str,),
    "consumers": (list,),
    "bytes": (int,),
    "shape": (list,),
    "alias_of": (int, type(None)),
    "host_memory": (bool,),
}


def read_json(path: Path, expected: str) -> dict[str, Any]:
    """Read a JSON object whose ``format`` is ``expected``; InputError names file and trouble."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; give {expected} JSON") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not whole JSON (line {error.lineno}: {error.msg}); write it again"
        ) from None
    if not isinstance(data, dict) or data.get("format") != expected:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise InputError(f"{path}: format is {found!r}, not {expected!r}")
    return data


def read_graph(path: Path) -> OpGraph:
    """Read a graph from JSON, or from .npz; InputError says what is wrong with it."""
    if path.suffix == ".npz":
        if not path.exists():
            raise InputError(f"cannot read {path}: no such file; check the path")
        return load_graph_file(path)
    data = read_json(path, GRAPH)
    try:
        return graph_from_json(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def graph_from_json(data: Mapping[str, Any]) -> OpGraph:
    """Build a graph from a parsed ``placebench-graph-1`` object; InputError if it is wrong."""
    ops = [_entry(op, _OP, ("name", "type"), f"op {i}") for i, op in _listed(data, "ops")]
    tensors = [
        _entry(t, _TENSOR, ("producer", "consumers"), f"tensor {i}")
        for i, t in _listed(data, "tensors")
    ]
    index = {op["name"]: i for i, op in enumerate(ops)}

    def find(name: Any, tensor: int) -> int:
        if not isinstance(name, str) or name not in index:
            raise InputError(f"tensor {tensor} names operation {name!r}, which is not in ops")
        return index[name]

    def column(entries: list[dict[str, Any]], key: str, default: Any) -> list[Any]:
        return [default if (v := e.get(key)) is None else v for e in entries]

    kinds = sorted({kind for op in ops for kind in op.get("seconds", {})})
    return OpGraph.create(
        str(data.get("name", "graph")),
        [op["name"] for op in ops],
        [op["type"] for op in ops],
        [find(t["producer"], i) for i, t in enumerate(tensors)],
        [(i, find(name, i)) for i, t in enumerate(tensors) for name in t["consumers"]],
        colocation=[op.get("colocation") for op in ops],
        flops=column(ops, "flops", 0.0),
        bytes_touched=column(ops, "bytes_touched", 0.0),
        persistent_bytes=column(ops, "persistent_bytes", 0),
        gpu_kernel=column(ops, "gpu_kernel", True),
        tensor_bytes=column(tensors, "bytes", 0),
        alias_of=column(tensors, "alias_of", -1),
        host_memory=column(tensors, "host_memory", False),
        shapes=[t.get("shape", []) for t in tensors],
        seconds={kind: [_seconds(op, kind) for op in ops] for kind in kinds},
    )


def _listed(data: Mapping[str, Any], key: str) -> list[tuple[int, Any]]:
    entries = data.get(key, [])
    if not isinstance(entries, list):
        raise InputError(f"{key} must be a list")
    return list(enumerate(entries))


def _seconds(op: Mapping[str, Any], kind: str) -> float:
    value = op.get("seconds", {}).get(kind, float("nan"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"operation {op['name']!r} has seconds {value!r} on {kind}; give a number")
    return float(value)


def _entry(
    entry: Any, known: dict[str, tuple[type, ...]], required: tuple[str, ...], what: str
) -> dict[str, Any]:
    """Check the keys and types of one op or tensor."""
    if not isinstance(entry, dict):
        raise InputError(f"{what} is {entry!r}, not an object")
    for key in required:
        if key not in entry:
            raise InputError(f"{what} has no {key!r}; add it")
    for key, value in entry.items():
        if key not in known:
            raise InputError(f"{what} has the unknown key {key!r}; known: {', '.join(known)}")
        wrong_bool = isinstance(value, bool) and bool not in known[key]
        if wrong_bool or not isinstance(value, known[key]):
            raise InputError(f"{what}: {key} is {value!r}; give a {known[key][0].__name__}")
    return entry


def graph_to_json(graph: OpGraph) -> dict[str, Any]:
    """Return a graph as a ``placebench-graph-1`` object, every field written out."""
    members = np.bincount(graph.colocation, minlength=graph.n_classes)
    ops = []
    for i, name in enumerate(graph.op_names):
        index = int(graph.colocation[i])
        op = {
            "name": name,
            "type": graph.op_types[i],
            "flops": float(graph.flops[i]),
            "bytes_touched": float(graph.bytes_touched[i]),
            "persistent_bytes": int(graph.persistent_bytes[i]),
            "gpu_kernel": bool(graph.gpu_kernel[i]),
            "colocation": str(index) if members[index] > 1 else None,
        }
        given = {k: float(v[i]) for k, v in graph.seconds.items() if not np.isnan(v[i])}
        ops.append(op | ({"seconds": given} if given else {}))
    tensors = []
    for t in range(graph.n_tensors):
        readers = graph.consumers[graph.consumer_offsets[t] : graph.consumer_offsets[t + 1]]
        tensor = {
            "producer": graph.op_names[graph.producer[t]],
            "bytes": int(graph.tensor_bytes[t]),
            "consumers": [graph.op_names[op] for op in readers],
            "shape": [int(d) for d in graph.shapes[t] if d >= 0],
            "host_memory": bool(graph.host_memory[t]),
        }
        alias = int(graph.alias_of[t])
        tensors.append(tensor | ({"alias_of": alias} if alias >= 0 else {}))
    return {"format": GRAPH, "name": graph.name, "ops": ops, "tensors": tensors}


def read_placement(path: Path, problem: Problem) -> Placement:
    """Read and check a placement; InputError says which operation is wrong."""
    data = read_json(path, PLACEMENT)
    devices = data.get("devices")
    if not isinstance(devices, dict) or not all(isinstance(v, str) for v in devices.values()):
        raise InputError(f'{path}: "devices" must map operation names to device names')
    try:
        return Placement.of_names(problem, devices)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_placement(placement: Placement, problem: Problem, path: Path) -> None:
    """Write a placement as JSON, whole or not at all."""
    data = {
        "format": PLACEMENT,
        "graph": problem.graph.name,
        "machine": problem.machine.name,
        "devices": placement.names(problem),
    }
    write_json(data, path)


def write_json(data: Any, path: Path) -> None:
    """Write JSON, whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
