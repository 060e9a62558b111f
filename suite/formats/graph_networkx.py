"""OpGraph <-> networkx, for those who make a graph, or look at one, with its tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.formats.graph_json import OP, TENSOR, graph_from_json
from suite.formats.schema import Fields, check_fields

if TYPE_CHECKING:
    import networkx

_LABEL = (str, int, type(None))
_NODE: Fields = {k: _LABEL if k == "colocation" else v for k, v in OP.items() if k != "name"}
_EDGE: Fields = {"bytes": TENSOR["bytes"], "tensor": (int, str)}


def to_networkx(graph: OpGraph) -> networkx.MultiDiGraph:
    """Return a MultiDiGraph of operation names; edges carry ``tensor`` and ``bytes``."""
    import networkx

    built = networkx.MultiDiGraph(name=graph.name)
    for i, op in enumerate(graph.op_names):
        built.add_node(
            op,
            type=graph.op_types[i],
            flops=float(graph.flops[i]),
            bytes_touched=float(graph.bytes_touched[i]),
            persistent_bytes=int(graph.persistent_bytes[i]),
            gpu_kernel=bool(graph.gpu_kernel[i]),
            colocation=int(graph.colocation[i]),
        )
    for tensor, consumer in zip(*graph.edges, strict=True):
        built.add_edge(
            graph.op_names[graph.producer[tensor]],
            graph.op_names[consumer],
            tensor=int(tensor),
            bytes=int(graph.tensor_bytes[tensor]),
        )
    return built


def from_networkx(graph: networkx.DiGraph) -> OpGraph:
    """Build a graph from a DiGraph or MultiDiGraph; the inverse of :func:`to_networkx`.

    Nodes have the fields of an operation in a graph file, all optional, and a node's name is its
    operation's; other attributes are nobody's business. Edges of one producer that share a
    ``tensor``, a number or text, are one tensor of ``bytes``; an edge without is a tensor of its
    own. Aliases, shapes and unread tensors do not survive the round trip.

    Raises InputError, with the node or the edge, where a field is of another type, the edges of one
    tensor differ in bytes or have no direction, and as :func:`graph_from_json` does.
    """
    if not graph.is_directed():
        raise InputError(
            "the graph is undirected; give a networkx.DiGraph, whose edges lead from an operation"
            " to one that reads what it makes"
        )
    ops = []
    for node, data in graph.nodes(data=True):
        fields = _checked(data, _NODE, f"node {str(node)!r}")
        label = fields.get("colocation")
        fields["colocation"] = None if label is None else str(label)
        ops.append({"type": "Op", **fields, "name": str(node)})
    data = {"name": graph.name or "networkx", "ops": ops, "tensors": _tensors(graph)}
    return graph_from_json(data)


def _tensors(graph: networkx.DiGraph) -> list[dict[str, Any]]:
    """Those of a graph file: numbered ones in that order, before them all others by their ends."""
    index = {node: i for i, node in enumerate(graph.nodes)}
    edges = []
    for u, v, data in graph.edges(data=True):
        fields = _checked(data, _EDGE, f"edge {str(u)!r} -> {str(v)!r}")
        label = fields.get("tensor")
        edges.append((label if isinstance(label, int) else -1, index[u], index[v], fields))
    edges.sort(key=lambda edge: edge[:3])
    names = [str(node) for node in graph.nodes]
    found: dict[object, dict[str, Any]] = {}
    for number, (_, u, v, fields) in enumerate(edges):
        label, size = fields.get("tensor"), fields.get("bytes", 0)
        key = (u, label) if label is not None else number
        tensor = found.setdefault(key, {"producer": names[u], "bytes": size, "consumers": []})
        if tensor["bytes"] != size:
            raise InputError(
                f"tensor {label!r} of node {names[u]!r} has {tensor['bytes']} bytes on one edge,"
                f" {size} on {names[u]!r} -> {names[v]!r}; give all of its edges the same"
            )
        tensor["consumers"].append(names[v])
    return list(found.values())


def _checked(data: Mapping[str, Any], known: Fields, what: str) -> dict[str, Any]:
    """The known fields of a node or an edge."""
    plain = {key: _plain(data[key], known[key]) for key in known if key in data}
    check_fields(plain, known, (), what)
    return plain


def _plain(value: Any, types: tuple[type, ...]) -> Any:
    """A value as JSON has it: NumPy's numbers as Python's, 1e6 as a whole number where one goes."""
    plain = value.item() if isinstance(value, np.generic) else value
    whole = int in types and isinstance(plain, float) and plain.is_integer()
    return int(plain) if whole and float not in types else plain
