"""Nested ``tf.function`` calls replaced by what they do, so that each operation can be placed."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from suite.capture.branches import CALL, open_branches
from suite.capture.reference_variables import REFERENCE_VARIABLES
from suite.capture.tensorflow_internals import OPTIMIZE_GRAPH, REWRITER_CONFIG
from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

_STEP = "placebench/step"
_BARRIERS = ("_noinline", "_XlaMustCompile", "api_implements")
"""Attributes that keep Grappler from inlining a call."""


def inline(
    graph_def: tf.compat.v1.GraphDef, wanted: Sequence[str]
) -> tuple[tf.compat.v1.GraphDef, list[str], list[str]]:
    """Inline all calls of a flat GraphDef: (GraphDef, operations to run, what was taken, in words).

    Both sides of branches that only compute are taken; other branches and loops (``tf.while_loop``)
    stay. A GraphDef without functions is returned as it is. InputError where a function makes
    variables of its own, as TensorFlow 1 does.
    """
    if not graph_def.library.function:
        return graph_def, list(wanted), []
    _refuse_variables(graph_def)
    opened = open_branches(graph_def)
    flat, wanted = _inlined(graph_def, wanted)
    # Grappler leaves the call of a side that calls in its turn, until what that calls is inlined.
    before, left = inf, _calls(flat) if opened else 0
    while 0 < left < before:
        flat, wanted = _inlined(flat, wanted)
        before, left = left, _calls(flat)
    words = f"both sides of branches, one of which is chosen: {', '.join(opened)}"
    return flat, wanted, [words] if opened else []


def _calls(graph_def: tf.compat.v1.GraphDef) -> int:
    return sum(node.op == CALL for node in graph_def.node)


def _refuse_variables(graph_def: tf.compat.v1.GraphDef) -> None:
    for node in (node for one in graph_def.library.function for node in one.node_def):
        if node.op in REFERENCE_VARIABLES:
            raise InputError(
                f"{node.name!r} is a reference variable of TensorFlow 1 in a function, which cannot"
                " be inlined; save it with resource variables, or freeze it into a GraphDef (.pb)"
            )


def _inlined(
    graph_def: tf.compat.v1.GraphDef, wanted: Sequence[str]
) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """Inline with Grappler: (GraphDef, operations to run)."""
    import tensorflow as tf

    meta = tf.compat.v1.MetaGraphDef()
    meta.graph_def.CopyFrom(graph_def)
    _drop_barriers(meta.graph_def)
    # Grappler keeps what is fetched, calls too: fetch an operation that waits for them instead.
    meta.graph_def.node.add(name=_STEP, op="NoOp", input=[f"^{name}" for name in wanted])
    meta.collection_def["train_op"].node_list.value.append(_STEP)
    config = tf.compat.v1.ConfigProto()
    # With this executor named, functional loops are not lowered to cyclic graphs.
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    rewrite = config.graph_options.rewrite_options
    rewrite.optimizers.append("function")
    rewrite.meta_optimizer_iterations = REWRITER_CONFIG.load().ONE
    rewrite.min_graph_nodes = -1
    inlined = OPTIMIZE_GRAPH.load()(config, meta, graph_id=b"placebench-inline")
    position = [node.name for node in inlined.node].index(_STEP)
    wanted = [name.removeprefix("^") for name in inlined.node[position].input]
    del inlined.node[position]
    return inlined, wanted


def _drop_barriers(graph_def: tf.compat.v1.GraphDef) -> None:
    functions = graph_def.library.function
    nodes = [*graph_def.node, *(node for f in functions for node in f.node_def)]
    for holder in [*functions, *nodes]:
        for name in _BARRIERS:
            if name in holder.attr:
                del holder.attr[name]
