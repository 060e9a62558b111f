"""Shapes that depend on data: their upper bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

_UNIQUE = "Unique"
_SCOPE = "placebench/upper_bound"


def bounded(graph_def: tf.compat.v1.GraphDef) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """Return a GraphDef whose shapes are upper bounds of this one's, and what was taken, in words.

    ``Unique`` (of sparse gradients) has at most as many values as its input has. The operations
    keep their names, and others are added. A GraphDef without such shapes is returned as it is.
    """
    found = [node.name for node in graph_def.node if node.op == _UNIQUE]
    if not found:
        return graph_def, []
    sized = type(graph_def)()
    sized.CopyFrom(graph_def)
    for node in [node for node in sized.node if node.op == _UNIQUE]:
        _take_all(sized, node)
    return sized, [f"as many distinct values as there are values: {', '.join(found)}"]


def _take_all(graph_def: tf.compat.v1.GraphDef, node: tf.compat.v1.NodeDef) -> None:
    """Make a ``Unique`` two tensors of its input's shape."""
    values, indices = node.attr["T"].type, node.attr["out_idx"].type
    cast = graph_def.node.add(name=f"{_SCOPE}/{node.name}", op="Cast", input=[node.input[0]])
    cast.attr["SrcT"].type = values
    cast.attr["DstT"].type = indices
    node.op = "IdentityN"
    node.input.insert(1, cast.name)
    node.ClearField("attr")
    node.attr["T"].list.type.extend([values, indices])
