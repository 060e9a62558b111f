"""A GraphDef with a device for every node, as a ``tf.Graph`` that runs exactly that."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from suite.core.errors import InputError
from suite.execution.request import Request
from suite.execution.values import initial_value, input_value

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True, eq=False)
class Placed:
    """What a session needs to run the step."""

    graph: tf.Graph
    """``tf.Graph``; inputs are constants on the device of their placeholder."""
    initialise: list[tf.Operation]
    """Operations that give the variables their first values, on the variables' devices."""
    targets: list[tf.Operation]
    """Operations that nothing reads: running them runs all."""
    outputs: list[tf.Tensor]
    """The scalars among their outputs (the loss)."""


def placed(request: Request) -> Placed:
    """Build the graph of a request; InputError for nodes that cannot be given values."""
    import tensorflow as tf

    graph_def = read_graph_def(request.step.graph_def)
    _set_devices(graph_def, device_of(request))
    _set_inputs(graph_def, request.step.seed)
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
        operations = [graph.get_operation_by_name(name) for name in request.step.op_names]
        variables = [op for op in operations if op.type == "VarHandleOp"]
        initialise = [_assign(op, request.step.seed) for op in variables]
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}
    targets = [op for op in operations if op.name not in read]
    first = [op.outputs[0] for op in targets if op.outputs]
    outputs = [t for t in first if t.dtype.is_floating and t.shape.rank == 0]
    return Placed(graph, initialise, targets, outputs)


def device_of(request: Request) -> dict[str, str]:
    """TensorFlow's device of every operation."""
    names = [request.device_names[d] for d in request.devices.tolist()]
    return dict(zip(request.step.op_names, names, strict=True))


def read_graph_def(path: Path) -> tf.compat.v1.GraphDef:
    """Read a GraphDef, gzipped or not; InputError if it is not one."""
    import tensorflow as tf
    from google.protobuf.message import DecodeError

    graph_def = tf.compat.v1.GraphDef()
    try:
        content = path.read_bytes()
        graph_def.ParseFromString(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, zlib.error, DecodeError) as error:
        raise InputError(f"{path} is not a readable GraphDef ({error}); capture it again") from None
    return graph_def


def _set_devices(graph_def: tf.compat.v1.GraphDef, device: Mapping[str, str]) -> None:
    nodes = [node.name for node in graph_def.node]
    if sorted(nodes) != sorted(device):
        raise InputError(
            f"the placement has {len(device)} operations, the GraphDef {len(nodes)}, or their names"
            " differ; capture the step again"
        )
    for node in graph_def.node:
        node.device = device[node.name]


def _set_inputs(graph_def: tf.compat.v1.GraphDef, seed: int) -> None:
    """Turn placeholders into constants: a step begins with its inputs where they are wanted.

    Those with a default have that.
    """
    import tensorflow as tf

    nodes = {n.name: n for n in graph_def.node if n.op == "Placeholder"}
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    for name, node in nodes.items():
        value = tf.make_tensor_proto(input_value(graph.get_operation_by_name(name), seed))
        del node.input[:]
        node.attr.clear()
        node.op = "Const"
        node.attr["dtype"].type = value.dtype
        node.attr["value"].tensor.CopyFrom(value)


def _assign(variable: tf.Operation, seed: int) -> tf.Operation:
    import tensorflow as tf

    with tf.device(variable.device), tf.name_scope("placebench/initial"):
        value = initial_value(variable, seed)
        return tf.raw_ops.AssignVariableOp(resource=variable.outputs[0], value=value)
