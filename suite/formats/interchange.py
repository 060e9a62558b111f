"""Graphs and placements as files, so that other tools can join without TensorFlow.

The formats are in docs/formats.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.formats.graph_json import GRAPH, graph_from_json, graph_to_json
from suite.formats.graph_npz import FORMAT, load_graph_file, save_graph
from suite.formats.json_file import read_json, write_json_lines
from suite.formats.npz_archive import check_npz
from suite.formats.placement_npz import (
    PLACEMENT,
    load_placement,
    save_placement,
    tensor_bytes,
    warn_of_other_sizes,
)
from suite.formats.recorded_placement import RECORD, recorded_names
from suite.formats.schema import Fields, check_fields

_PLACEMENT: Fields = {
    **{"format": (str,), "graph": (str,), "machine": (str,), "tensor_bytes": (int,)},
    "devices": (dict,),
}


def read_graph(path: str | Path) -> OpGraph:
    """Read a graph from .npz, else from JSON; InputError says what is wrong with it."""
    path = Path(path)
    if path.suffix == ".npz":
        if not path.exists():
            raise InputError(f"cannot read {path}: no such file; check the path")
        try:
            check_npz(path)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} is damaged or not a {FORMAT} file: {error}") from None
        return load_graph_file(path)
    data = read_json(path, GRAPH)
    try:
        return graph_from_json(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_graph(graph: OpGraph, path: str | Path) -> None:
    """Write a graph as .npz or, by any other name, as JSON, whole or not at all."""
    path = Path(path)
    if path.suffix == ".npz":
        save_graph(graph, path)
    else:
        write_json_lines(graph_to_json(graph), path)


def read_placement(path: str | Path, problem: Problem) -> Placement:
    """Read and check a placement, .npz or JSON, or that of a record, its JSON.

    InputError says which operation is wrong.

    The names of graph and machine in it are for people: what counts is that it fits ``problem``.
    Warns where it was made for the same operations on tensors of other sizes, as of another batch.
    """
    path = Path(path)
    if path.suffix == ".npz":
        return load_placement(path, problem)
    names = read_placement_names(path, problem.graph)
    try:
        return Placement.of_names(problem, names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_placement_names(path: Path, graph: OpGraph) -> dict[str, str]:
    """Read a placement or a record's as operation name -> device name; whether it fits is open.

    Warns where it was made for tensors of other sizes than those of ``graph``, as of another batch;
    a graph of other operations is no other batch.
    """
    data = read_json(path, PLACEMENT, RECORD)
    if data["format"] == RECORD:
        return recorded_names(data, path, graph)
    _check_placement(data, path)
    if data["devices"].keys() == set(graph.op_names):
        warn_of_other_sizes(path, data.get("tensor_bytes"), graph)
    devices: dict[str, str] = data["devices"]
    return devices


def _check_placement(data: dict[str, Any], path: Path) -> None:
    """Raise InputError unless all that a placement's file says is as it should be."""
    try:
        check_fields(data, _PLACEMENT, ("devices",), "the placement")
        if not all(isinstance(name, str) for name in data["devices"].values()):
            raise InputError("devices must map operation names to device names")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_placement(placement: Placement, problem: Problem, path: str | Path) -> None:
    """Write a placement as .npz or, by any other name, as JSON, whole or not at all."""
    path = Path(path)
    if path.suffix == ".npz":
        save_placement(placement, problem, path)
        return
    data = {
        "format": PLACEMENT,
        "graph": problem.graph.name,
        "machine": problem.machine.name,
        "tensor_bytes": tensor_bytes(problem.graph),
        "devices": placement.names(problem),
    }
    write_json_lines(data, path)
