"""TensorFlow -> OpGraph: a concrete function, any ``tf.function`` step, or a GraphDef."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from suite.capture.flatten import lift, prune
from suite.capture.kernels import Kernel, Registry, gpu_kernel, host_outputs, registered
from suite.capture.op_costs import count
from suite.capture.upper_bounds import bounded, shape_of
from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import GenericFunction

ALIASING = frozenset(
    [
        "Identity",
        "Reshape",
        "ExpandDims",
        "Squeeze",
        "StopGradient",
        "PreventGradient",
        "ReadVariableOp",
        "EnsureShape",
    ]
)
"""Operations whose first output is the buffer of their first input (of the variable, for reads)."""
_WEIGHTLESS = frozenset(["resource", "variant", "string"])
"""Types of tensors that count as no bytes: handles to variables, and text."""


@dataclass(frozen=True, eq=False)
class Captured:
    """A graph to place, and the GraphDef that runs it."""

    graph: OpGraph
    graph_def: tf.compat.v1.GraphDef
    """``tf.compat.v1.GraphDef`` with the same operation names."""


def capture(
    step: GenericFunction,
    inputs: Sequence[tf.TensorSpec],
    name: str,
    metadata: Mapping[str, object] | None = None,
) -> Captured:
    """Capture a ``tf.function`` training step, traced for ``inputs`` (``tf.TensorSpec`` each).

    Raises InputError if it cannot be flattened or a shape is unknown.
    """
    function = step.get_concrete_function(*inputs)
    graph_def, wanted = lift(function)
    parameters = sum(int(v.shape.num_elements()) for v in function.graph.trainable_variables)
    facts = {"ops_unpruned": len(graph_def.node), "parameters": parameters}
    return capture_graph_def(graph_def, wanted, name, facts | dict(metadata or {}))


def capture_graph_def(
    graph_def: tf.compat.v1.GraphDef,
    wanted: Sequence[str],
    name: str,
    metadata: Mapping[str, object] | None = None,
    registry: Registry = registered,
) -> Captured:
    """Prune a flat GraphDef to what the operations ``wanted`` need, and capture it.

    ``registry`` says which operations have a GPU kernel. Where a shape depends on data, its upper
    bound is taken and said among the metadata's ``choices``.
    """
    pruned = prune(graph_def, list(wanted))
    for node in pruned.node:
        # Today's constant folding writes it for a product with 1; older versions do not know it.
        if node.op == "Snapshot" and not registry(node.op):
            node.op = "Identity"
    sized, taken = bounded(pruned)
    tf_graph = _imported(pruned)
    tf_sized = _imported(sized) if taken else tf_graph
    ops = tf_graph.get_operations()
    sized_ops = [tf_sized.get_operation_by_name(op.name) for op in ops]
    flops, touched = count(sized, wanted, sized_ops)
    facts: dict[str, Any] = {"ops_unpruned": len(graph_def.node)}
    facts |= {"tensorflow": version("tensorflow"), **(metadata or {})}
    if taken:
        facts["choices"] = [*facts.get("choices", ()), *taken]
    kernels = [gpu_kernel(op.node_def, registry) for op in ops]
    graph = _to_op_graph(ops, sized_ops, kernels, name, flops, touched, facts)
    return Captured(graph, pruned)


def _imported(graph_def: tf.compat.v1.GraphDef) -> tf.Graph:
    import tensorflow as tf

    tf_graph = tf.Graph()
    with tf_graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return tf_graph


def _to_op_graph(
    ops: Sequence[tf.Operation],
    sized_ops: Sequence[tf.Operation],
    kernels: Sequence[Kernel | None],
    name: str,
    flops: Floats,
    touched: Floats,
    metadata: Mapping[str, object],
) -> OpGraph:
    """``sized_ops`` are the same operations with all shapes known."""
    index = {op.name: i for i, op in enumerate(ops)}
    tensors = _Tensors()
    first = []
    for i, op in enumerate(ops):
        first.append(len(tensors.producer))
        on_host = host_outputs(op, kernels[i])
        for tensor, host in zip(sized_ops[i].outputs, on_host, strict=True):
            shape = _shape(tensor)
            tensors.add(i, _bytes(tensor, shape), bool(host), shape)
    tensor_of = {t.name: first[i] + k for i, op in enumerate(ops) for k, t in enumerate(op.outputs)}
    consumers = [(tensor_of[t.name], i) for i, op in enumerate(ops) for t in op.inputs]
    for i, op in enumerate(ops):
        if op.type in ALIASING and op.inputs:
            tensors.alias_of[first[i]] = tensor_of[op.inputs[0].name]
    control: dict[int, int] = {}
    for i, op in enumerate(ops):
        # TensorFlow gathers them in sets, so their order differs from process to process.
        for source in sorted(index[before.name] for before in op.control_inputs):
            if source not in control:
                control[source] = tensors.add(source, 0, True, [])
            consumers.append((control[source], i))
    return OpGraph.create(
        name,
        [op.name for op in ops],
        [op.type for op in ops],
        tensors.producer,
        consumers,
        colocation=_colocation(ops),
        flops=flops,
        bytes_touched=touched,
        persistent_bytes=[_variable_bytes(op) for op in ops],
        gpu_kernel=[kernel is not None for kernel in kernels],
        tensor_bytes=tensors.size,
        alias_of=tensors.alias_of,
        host_memory=tensors.host,
        shapes=tensors.shapes,
        metadata=metadata,
    )


class _Tensors:
    """Columns of the tensors of a graph under construction."""

    def __init__(self) -> None:
        self.producer: list[int] = []
        self.size: list[int] = []
        self.host: list[bool] = []
        self.shapes: list[list[int]] = []
        self.alias_of: list[int] = []

    def add(self, producer: int, size: int, host: bool, shape: list[int]) -> int:
        self.producer.append(producer)
        self.size.append(size)
        self.host.append(host)
        self.shapes.append(shape)
        self.alias_of.append(-1)
        return len(self.producer) - 1


def _shape(tensor: tf.Tensor) -> list[int]:
    """The shape of a ``tf.Tensor``; InputError where it weighs something and is not known whole."""
    shape = shape_of(tensor)
    if shape is None and tensor.dtype.name not in _WEIGHTLESS:
        inputs = [op for op in tensor.graph.get_operations() if op.type == "Placeholder"]
        if all(op.outputs[0].shape.is_fully_defined() for op in inputs):
            advice = "which depends on data; compute it by operations whose results have fixed ones"
        else:
            advice = "give the step's arguments fixed shapes (batch size included)"
        raise InputError(f"tensor {tensor.name!r} has the unknown shape {tensor.shape}; {advice}")
    return shape or []


def _bytes(tensor: tf.Tensor, shape: Sequence[int]) -> int:
    return 0 if tensor.dtype.name in _WEIGHTLESS else prod(shape) * int(tensor.dtype.size)


def _variable_bytes(op: tf.Operation) -> int:
    if op.type not in ("VarHandleOp", "VariableV2"):
        return 0
    import tensorflow as tf

    shape, dtype = tf.TensorShape(op.get_attr("shape")), op.get_attr("dtype")
    return int(np.prod(shape.as_list(), dtype=np.int64)) * int(dtype.size)


def _colocation(ops: Sequence[tf.Operation]) -> list[str | None]:
    """A label per operation: variables with all who take their handles, and ``loc:@`` groups."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    for op in ops:
        handles = [t.op.name for t in op.inputs if t.dtype.name == "resource"]
        explicit = [g[5:].decode() for g in op.colocation_groups() if g.startswith(b"loc:@")]
        for other in handles + explicit:
            if other != op.name:
                parent[root(op.name)] = root(other)
    return [root(op.name) if op.name in parent else None for op in ops]
