"""GraphDef files -> OpGraph: frozen or with variables, binary or text, gzipped or not."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.flatten import prune
from suite.capture.inline_calls import inline
from suite.capture.load_model import Options
from suite.capture.reference_variables import bonds, bound
from suite.capture.to_graph import capture_graph_def
from suite.core.errors import InputError
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import tensorflow as tf

_LOOPS = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")
_SOURCES = ("Placeholder", "Const", "VarHandleOp", "VariableV2", "ReadVariableOp")
"""Operations that are no part of a step unless something reads them."""
_ASIDE = r"(.*/)?(init(_\d+)?|init_all_\w+|Assign(_\d+)?|VarIsInitializedOp)|(.*/)?save(_\d+)?/.*"
"""TensorFlow 1's names for initialisation and checkpoints, which are no part of a step."""


def capture_file(model: str, options: Options) -> OpGraph:
    """Capture what a step of the GraphDef runs; InputError says why it cannot.

    That is ``options.fetch``, else every operation that nothing reads, initialisation and
    checkpoints apart. Open dimensions of placeholders are filled in from ``options``; those with a
    default take it.
    """
    whole = _read(Path(model))
    try:
        wanted = _wanted(whole, options)
        graph_def = _needed(whole, wanted)
        choices = _complete(graph_def, options)
        first = sorted(wanted, key=lambda name: name.startswith("gradients"))[:4]
        shown = ", ".join(first) + (f" and {len(wanted) - 4} more" if wanted[4:] else "")
        choices.append(f"runs {shown}{'' if options.fetch else ' (what nothing reads; --fetch)'}")
        facts = {"source": model, "choices": choices, "ops_unpruned": len(whole.node)}
        flat, wanted = inline(graph_def, wanted)
        pairs = bonds(flat)
        name = Path(model.removesuffix(".gz")).stem
        return bound(capture_graph_def(_folded(flat, wanted), wanted, name, facts).graph, pairs)
    except InputError as error:
        raise InputError(f"{model}: {error}") from None
    except Exception as error:
        raise InputError(f"TensorFlow cannot use {model}: {describe_exception(error)}") from None


def _read(path: Path) -> tf.compat.v1.GraphDef:
    """Parse a GraphDef; InputError if the file is none."""
    import tensorflow as tf

    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be unpacked ({error}); write it again") from None
    graph_def = tf.compat.v1.GraphDef()
    if not (_parsed(data, graph_def, text=False) or _parsed(data, graph_def, text=True)):
        raise InputError(
            f"{path} is damaged or no GraphDef; a SavedModel is loaded by a module:function that"
            " returns a step"
        )
    return graph_def


def _parsed(data: bytes, graph_def: tf.compat.v1.GraphDef, *, text: bool) -> bool:
    """Parse into ``graph_def``; False when that leaves it without operations."""
    from google.protobuf import message, text_format

    graph_def.Clear()
    try:
        if text:
            text_format.Parse(data.decode("utf-8"), graph_def)
        else:
            graph_def.ParseFromString(data)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError):
        return False
    return bool(graph_def.node)


def _wanted(graph_def: tf.compat.v1.GraphDef, options: Options) -> list[str]:
    names = {node.name for node in graph_def.node}
    for name in options.fetch:
        if name not in names:
            raise InputError(f"there is no operation {name!r} to fetch; check the name")
    if options.fetch:
        return list(options.fetch)
    read = {_producer(reference) for node in graph_def.node for reference in node.input}
    sinks = [n.name for n in graph_def.node if n.name not in read and n.op not in _SOURCES]
    wanted = [name for name in sinks if not re.fullmatch(_ASIDE, name)]
    if not wanted:
        raise InputError("no operation is left unread; name what to run with --fetch")
    return wanted


def _producer(reference: str) -> str:
    return reference.lstrip("^").partition(":")[0]


def _needed(graph_def: tf.compat.v1.GraphDef, wanted: Sequence[str]) -> tf.compat.v1.GraphDef:
    """Return the part of a GraphDef that ``wanted`` needs; InputError when it has holes."""
    nodes = {node.name: node for node in graph_def.node}
    found, todo = set(wanted), list(wanted)
    while todo:
        name = todo.pop()
        if name not in nodes:
            raise InputError(f"operation {name!r} is read but not there; write the file again")
        more = {_producer(reference) for reference in nodes[name].input} - found
        found |= more
        todo.extend(more)
    part = type(graph_def)(versions=graph_def.versions, library=graph_def.library)
    part.node.extend(node for node in graph_def.node if node.name in found)
    return part


def _complete(graph_def: tf.compat.v1.GraphDef, options: Options) -> list[str]:
    """Fill in placeholders' shapes, drop devices and stale shapes."""
    import tensorflow as tf

    placeholders = [node for node in graph_def.node if node.op == "Placeholder"]
    options.check_names([node.name for node in placeholders])
    said = []
    for node in placeholders:
        known = tf.TensorShape(node.attr["shape"].shape)
        shape = options.shape(node.name, None if known.rank is None else known.as_list())
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        said.append(f"{node.name} {shape}")
    for node in graph_def.node:
        node.device = ""
        if node.op in _LOOPS:
            raise InputError(f"{node.name!r} is part of a loop; unroll it")
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
        if node.op == "PlaceholderWithDefault":
            dtype = node.attr["dtype"].type
            node.op = "Identity"
            node.ClearField("attr")
            node.attr["T"].type = dtype
    return [f"inputs {', '.join(said)}"] if said else []


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
