"""What TensorFlow 1 graphs say beyond resource variables: reference variables, colocation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suite.capture.tensorflow_internals import OP_DEFINITION
from suite.core.arrays import Bools
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import tensorflow as tf

REFERENCE_VARIABLES = ("Variable", "VariableV2")
"""Types of the operations that are one, TensorFlow 1's default."""
_Key = int | str
"""The number of a colocation class, or the name of an operation that pruning removed."""


def bonds(graph_def: tf.compat.v1.GraphDef) -> list[tuple[str, str]]:
    """Pairs of operations that must share a device.

    An operation that changes a variable through a reference and the variable; an operation and
    whatever its ``_class`` attribute names.
    """
    definition_of = OP_DEFINITION.load()
    found = []
    for node in graph_def.node:
        definition = definition_of(node.op)
        arguments = definition.input_arg if definition else ()
        pairs = zip(node.input, arguments, strict=False)
        others = [reference.partition(":")[0] for reference, a in pairs if a.is_ref]
        labels = [label.decode() for label in node.attr["_class"].list.s]
        others += [label[5:] for label in labels if label.startswith("loc:@")]
        found += [(node.name, other) for other in others]
    return found


def bound(graph: OpGraph, pairs: Iterable[tuple[str, str]]) -> OpGraph:
    """Merge the colocation classes of each pair; what pruning removed still holds others together.

    A variable is counted once, too: what refers to it has no bytes of its own.
    """
    parent: dict[_Key, _Key] = {}

    def root(key: _Key) -> _Key:
        while parent.setdefault(key, key) != key:
            key = parent[key]
        return key

    home: dict[str, _Key] = dict(zip(graph.op_names, graph.colocation.tolist(), strict=True))
    for name, other in pairs:
        if name in home:
            parent[root(home[name])] = root(home.get(other, other))
    dense: dict[_Key, int] = {}
    merged = [dense.setdefault(root(k), len(dense)) for k in graph.colocation.tolist()]
    sizes = graph.tensor_bytes.copy()
    sizes[_refers(graph)[graph.producer]] = 0
    return replace(graph, colocation=np.array(merged, np.int32), tensor_bytes=sizes)


def _refers(graph: OpGraph) -> Bools:
    """bool[ops]: whether the outputs refer to a variable."""
    definition_of = OP_DEFINITION.load()
    definitions = {op_type: definition_of(op_type) for op_type in graph.op_types}
    refers = {t: bool(d) and any(a.is_ref for a in d.output_arg) for t, d in definitions.items()}
    return np.array([refers[op_type] for op_type in graph.op_types], np.bool_)
