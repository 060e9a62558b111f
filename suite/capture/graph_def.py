"""GraphDefs as others write them: read, cut to a step, folded and captured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.capture.flatten import prune
from suite.capture.inline_calls import inline
from suite.capture.kernels import Registry, recorded, registered
from suite.capture.packed import unpacked
from suite.capture.reference_variables import bonds, bound
from suite.capture.to_graph import Captured, capture_graph_def
from suite.core.errors import InputError
from suite.core.model import GraphFile

if TYPE_CHECKING:
    import tensorflow as tf


def capture_exported(file: GraphFile, name: str, metadata: Mapping[str, object]) -> Captured:
    """Capture the step of a file that belongs to a task, with the kernels it is to run on."""
    whole = read(file.path)
    facts = {"ops_unpruned": len(whole.node)} | dict(metadata)
    step = needed(whole, file.fetch)
    return capture_step(step, file.fetch, name, facts, recorded(file.gpu_kernels))


def capture_step(
    graph_def: tf.compat.v1.GraphDef,
    wanted: Sequence[str],
    name: str,
    facts: Mapping[str, Any],
    registry: Registry = registered,
) -> Captured:
    """Capture a GraphDef whose placeholders have shapes: inlined, folded, colocated."""
    pairs = bonds(graph_def)  # Grappler, which inlines, drops them
    flat, wanted, taken = inline(graph_def, wanted)
    if taken:
        facts = {**facts, "choices": [*facts.get("choices", ()), *taken]}
    pairs += bonds(flat)
    captured = capture_graph_def(_folded(flat, wanted), wanted, name, facts, registry)
    return replace(captured, graph=bound(captured.graph, pairs))


def read(path: Path) -> tf.compat.v1.GraphDef:
    """Parse a GraphDef, binary or text; InputError if the file is none."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef()
    if not _parsed(path, graph_def):
        raise InputError(f"{path} is damaged or no GraphDef; of a SavedModel, name the folder")
    return graph_def


def read_meta_graph(path: Path) -> tf.compat.v1.MetaGraphDef:
    """Parse what TensorFlow 1 writes beside a checkpoint; InputError if the file is none such."""
    import tensorflow as tf

    meta = tf.compat.v1.MetaGraphDef()
    if not _parsed(path, meta):
        raise InputError(f"{path} is damaged or no MetaGraph; name a GraphDef .pb or .pbtxt")
    return meta


def _parsed(path: Path, whole: tf.compat.v1.GraphDef | tf.compat.v1.MetaGraphDef) -> bool:
    """Parse a file, binary or text, into ``whole``; False where that gives no operations."""
    from google.protobuf import message, text_format

    data = unpacked(path)
    for text in (False, True):
        whole.Clear()
        try:
            if text:
                text_format.Parse(data.decode("utf-8"), whole)
            else:
                whole.ParseFromString(data)
        except (message.DecodeError, text_format.ParseError, UnicodeDecodeError):
            continue
        if getattr(whole, "graph_def", whole).node:
            return True
    return False


def needed(graph_def: tf.compat.v1.GraphDef, wanted: Sequence[str]) -> tf.compat.v1.GraphDef:
    """Return the part of a GraphDef that ``wanted`` needs; InputError when it has holes."""
    nodes = {node.name: node for node in graph_def.node}
    found, todo = set(wanted), list(wanted)
    while todo:
        name = todo.pop()
        if name not in nodes:
            raise InputError(f"operation {name!r} is read but not there; write the file again")
        more = {producer(reference) for reference in nodes[name].input} - found
        found |= more
        todo.extend(more)
    part = type(graph_def)(versions=graph_def.versions, library=graph_def.library)
    part.node.extend(node for node in graph_def.node if node.name in found)
    return part


def producer(reference: str) -> str:
    return reference.lstrip("^").partition(":")[0]


def _folded(graph_def: tf.compat.v1.GraphDef, wanted: list[str]) -> tf.compat.v1.GraphDef:
    """Fold all that follows from the inputs' shapes.

    Grappler takes placeholders for fed, and the shapes of what is fed for unknown; variables are
    not, so that they stand in for them.
    """
    inputs = {node.name for node in graph_def.node if node.op == "Placeholder"}
    for node in graph_def.node:
        node.op = "VariableV2" if node.name in inputs else node.op
    folded = prune(graph_def, wanted)
    for node in folded.node:
        if node.name in inputs:
            kept = {name: node.attr[name] for name in ("dtype", "shape")}
            node.op = "Placeholder"
            node.ClearField("attr")
            for name, value in kept.items():
                node.attr[name].CopyFrom(value)
    return folded
