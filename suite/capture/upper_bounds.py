"""Shapes that depend on data: their upper bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tensorflow as tf

_UNIQUE = "Unique"
_BATCH_NORM, _RESERVED = "FusedBatchNormV3", 5
"""An operation, and its output that only a GPU's library fills, as it likes."""
_SCOPE = "placebench/upper_bound"


def bounded(graph_def: tf.compat.v1.GraphDef) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """Return a GraphDef whose shapes are upper bounds of this one's, and what was taken, in words.

    ``Unique`` (of sparse gradients) has at most as many values as its input has, and whoever reads
    what batch normalisation reserves finds nothing (see :func:`shape_of`). The operations keep
    their names, and others are added. A GraphDef without such shapes is returned as it is.
    """
    found = [node.name for node in graph_def.node if node.op == _UNIQUE]
    normalised = [node.name for node in graph_def.node if node.op == _BATCH_NORM]
    if not found and not normalised:
        return graph_def, []
    sized, taken = type(graph_def)(), []
    sized.CopyFrom(graph_def)
    if found:
        taken.append(f"as many distinct values as there are values: {', '.join(found)}")
        for node in [node for node in sized.node if node.op == _UNIQUE]:
            _take_all(sized, node)
    if normalised:
        taken.append(f"nothing reserved by batch normalisation: {', '.join(normalised)}")
        _reserve_nothing(sized, normalised)
    return sized, taken


def shape_of(tensor: tf.Tensor) -> list[int] | None:
    """A tensor's shape, None where it is not known whole.

    Nothing is known of what ``FusedBatchNormV3`` reserves for its gradient: CPUs reserve nothing,
    and so it is [0].
    """
    if tensor.op.type == _BATCH_NORM and tensor.value_index == _RESERVED:
        return [0]
    shape: list[int] | None = tensor.shape.as_list() if tensor.shape.is_fully_defined() else None
    return shape


def _reserve_nothing(graph_def: tf.compat.v1.GraphDef, names: list[str]) -> None:
    """Let all that read what these reserve read an empty constant."""
    import tensorflow as tf

    empty = graph_def.node.add(name=f"{_SCOPE}/reserved", op="Const")
    value = tf.make_tensor_proto([], tf.float32, [0])
    empty.attr["dtype"].type = value.dtype
    empty.attr["value"].tensor.CopyFrom(value)
    reserved = {f"{name}:{_RESERVED}" for name in names}
    for node in graph_def.node:
        for i, source in enumerate(node.input):
            if source in reserved:
                node.input[i] = empty.name


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
