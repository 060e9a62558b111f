"""OpGraph <-> networkx, for those who want to look at a graph with its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import networkx


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


def from_networkx(graph: networkx.MultiDiGraph) -> OpGraph:
    """Build a graph from a directed networkx graph; the inverse of :func:`to_networkx`.

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

    def attribute(key: str, default: object) -> list[Any]:
        return [data.get(key, default) for _, data in graph.nodes(data=True)]

    labels = attribute("colocation", None)
    return OpGraph.create(
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
