"""A concrete function's graph as a flat GraphDef that runs by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from suite.capture.tensorflow_internals import (
    OPTIMIZE_GRAPH,
    RESOURCE_HANDLE_DATA,
    REWRITER_CONFIG,
)
from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction

_XLA = ("XlaCallModule", "XlaLaunch", "XlaLaunchV2")
"""Operations with a program inside that is no function: what JAX writes into SavedModels."""


def lift(function: ConcreteFunction) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """Turn a ``tf.ConcreteFunction`` into (GraphDef, names of the operations to run).

    Every captured variable becomes a VarHandleOp named after it, every captured small tensor a
    Const; arguments stay Placeholders. The operations to run are the outputs and the side effects.
    Raises InputError for a captured resource that is no variable.
    """
    graph_def = function.graph.as_graph_def()
    renamed = _replace_captures(function, {node.name: node for node in graph_def.node})
    for node in graph_def.node:
        for i, name in enumerate(node.input):
            node.input[i] = _rename(name, renamed)
    graph = function.graph
    wanted = [t.op.name for t in graph.outputs] + [op.name for op in graph.control_outputs]
    return graph_def, [renamed.get(name, name) for name in dict.fromkeys(wanted)]


def _rename(reference: str, renamed: dict[str, str]) -> str:
    """Replace the operation in ``name``, ``name:1`` or ``^name``."""
    caret = reference.startswith("^")
    name, colon, port = reference.lstrip("^").partition(":")
    return "^" * caret + renamed.get(name, name) + colon + port


def _replace_captures(
    function: ConcreteFunction, nodes: dict[str, tf.compat.v1.NodeDef]
) -> dict[str, str]:
    """Rewrite the placeholders of captured values in place; return old name -> new name."""
    import tensorflow as tf

    names = {id(v.handle): v.name.split(":")[0] for v in function.graph.variables}
    renamed: dict[str, str] = {}
    for external, internal in function.graph.captures:
        node = nodes[internal.op.name]
        del node.input[:]
        node.attr.clear()
        if external.dtype == tf.resource:
            name = _free_name(names.get(id(external), f"{node.name}/variable"), nodes)
            _variable(node, internal, name)
            renamed[internal.op.name] = name
            nodes[name] = node
        else:
            node.op = "Const"
            value = tf.make_tensor_proto(external.numpy())
            node.attr["dtype"].type = value.dtype
            node.attr["value"].tensor.CopyFrom(value)
    return renamed


def _variable(node: tf.compat.v1.NodeDef, handle: tf.Tensor, name: str) -> None:
    """Make ``node`` the VarHandleOp of the variable behind a captured (symbolic) handle."""
    behind = RESOURCE_HANDLE_DATA.load()(handle).shape_and_type
    if len(behind) != 1:
        raise InputError(f"{node.name!r} is a resource but no variable; capture steps without it")
    node.name, node.op = name, "VarHandleOp"
    node.attr["dtype"].type = behind[0].dtype
    node.attr["shape"].shape.CopyFrom(behind[0].shape)
    node.attr["shared_name"].s = name.encode()


def _free_name(name: str, nodes: Mapping[str, object]) -> str:
    """Return ``name`` as an operation may be called, or with the first free number appended.

    Variables and layers may have names of any characters, operations may not.
    """
    name = re.sub(r"[^A-Za-z0-9_.\\/>-]|^[^A-Za-z0-9.]", "_", name)
    name = name if name[:1] != "_" else f"variable{name}"
    candidate, number = name, 0
    while candidate in nodes:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def prune(graph_def: tf.compat.v1.GraphDef, wanted: list[str]) -> tf.compat.v1.GraphDef:
    """Drop what the step does not need and fold constants, with Grappler (as HDP's authors did).

    Raises InputError for a graph that calls functions, whose operations would be hidden.
    """
    import tensorflow as tf

    _refuse_calls(graph_def)
    meta = tf.compat.v1.MetaGraphDef()
    meta.graph_def.CopyFrom(graph_def)
    meta.collection_def["train_op"].node_list.value.extend(wanted)
    config = tf.compat.v1.ConfigProto()
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers.extend(["pruning", "constfold"])
    rewrite.meta_optimizer_iterations = REWRITER_CONFIG.load().ONE
    rewrite.min_graph_nodes = -1
    return OPTIMIZE_GRAPH.load()(config, meta, graph_id=b"placebench")


def _refuse_calls(graph_def: tf.compat.v1.GraphDef) -> None:
    called = {f.signature.name for f in graph_def.library.function}
    for node in graph_def.node:
        attrs = node.attr.values()
        if node.op in _XLA:
            raise InputError(
                f"operation {node.name!r} ({node.op}) is a whole program for XLA; export the model"
                " from TensorFlow (Keras' backend tensorflow), or to ONNX"
            )
        if node.op in called or any(a.HasField("func") or a.list.func for a in attrs):
            raise InputError(
                f"operation {node.name!r} ({node.op}) calls a function; build the step from plain"
                " operations (no nested tf.function, jit_compile or tf.while_loop, and no tf.cond"
                " but to compute alone)"
            )
