"""GraphDefs and MetaGraphs -> graphs to place: frozen or with variables, binary or text, packed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.graph_def import (
    capture_step,
    needed,
    producer,
    read,
    read_meta_graph,
)
from suite.capture.options import Options
from suite.capture.to_graph import Captured
from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

_LOOPS = ("Enter", "RefEnter", "NextIteration", "RefNextIteration")
_BRANCHES = ("Switch", "RefSwitch", "Merge", "RefMerge")
_SOURCES = ("Placeholder", "Const", "VarHandleOp", "VariableV2", "ReadVariableOp")
"""Operations that are no part of a step unless something reads them."""
_ASIDE = r"(.*/)?(init(_\d+)?|init_all_\w+|VarIsInitializedOp)|(.*/)?save(_\d+)?/.*"
"""TensorFlow 1's names for initialisation and checkpoints, which are no part of a step."""
_INITIAL = re.compile(r"(?P<variable>.+)/Assign(_\d+)?")
"""Its name for the assignment of a variable's first value; a step's own are called alike."""
_TRAINS = "train_op"
"""Its collection of the operations by which optimizers train."""


def capture_file(model: str, options: Options) -> Captured:
    """Capture what a step of the GraphDef runs; InputError says why it cannot.

    That is ``options.fetch``, else what a MetaGraph says trains it, else every operation that
    nothing reads, initialisation and checkpoints apart. Open dimensions of placeholders are filled
    in from ``options``; those with a default take it.
    """
    whole, trains = _read(Path(model))
    try:
        wanted = _wanted(whole, options.fetch or trains)
        graph_def = needed(whole, wanted)
        choices = _complete(graph_def, options)
        first = sorted(wanted, key=lambda name: name.startswith("gradients"))[:4]
        shown = ", ".join(first) + (f" and {len(wanted) - 4} more" if wanted[4:] else "")
        why = f"its {_TRAINS}" if trains else "what nothing reads"
        choices.append(f"runs {shown}{'' if options.fetch else f' ({why}; --fetch)'}")
        facts = {"source": model, "choices": choices, "ops_unpruned": len(whole.node)}
        name = Path(model.removesuffix(".gz")).stem
        return capture_step(graph_def, wanted, name, facts)
    except InputError as error:
        raise InputError(f"{model}: {error}") from None
    except Exception as error:
        raise InputError(f"TensorFlow cannot use {model}: {describe_exception(error)}") from None


def _read(path: Path) -> tuple[tf.compat.v1.GraphDef, list[str]]:
    """The graph of a file, and the operations that it says train it; InputError if it is none."""
    if Path(str(path).removesuffix(".gz")).suffix.lower() != ".meta":
        return read(path), []
    meta = read_meta_graph(path)
    names = meta.collection_def[_TRAINS].node_list.value
    return meta.graph_def, list(dict.fromkeys(map(producer, names)))


def _is_initial(name: str, target: str | None) -> bool:
    """Whether an operation is named as what gives ``target``, a variable, its first value."""
    found = _INITIAL.fullmatch(name)
    return found is not None and found["variable"] == target


def _wanted(graph_def: tf.compat.v1.GraphDef, fetch: Sequence[str]) -> list[str]:
    names = {node.name for node in graph_def.node}
    for name in fetch:
        if name not in names:
            raise InputError(f"there is no operation {name!r} to fetch; check the name")
    if fetch:
        return list(fetch)
    read = {producer(reference) for node in graph_def.node for reference in node.input}
    sinks = [n.name for n in graph_def.node if n.name not in read and n.op not in _SOURCES]
    targets = {n.name: producer(n.input[0]) for n in graph_def.node if n.input}
    wanted = [
        name
        for name in sinks
        if not re.fullmatch(_ASIDE, name) and not _is_initial(name, targets.get(name))
    ]
    if not wanted:
        raise InputError("no operation is left unread; name what to run with --fetch")
    return wanted


def _complete(graph_def: tf.compat.v1.GraphDef, options: Options) -> list[str]:
    """Fill in placeholders' shapes, drop devices and stale shapes."""
    import tensorflow as tf

    placeholders = [node for node in graph_def.node if node.op == "Placeholder"]
    sizes = {}
    for node in placeholders:
        # TensorFlow's default where a file leaves it out, not the scalar of an empty message. Up to
        # producer 21 an empty shape says the same.
        said_nothing = "shape" not in node.attr or (
            graph_def.versions.producer <= 21 and not node.attr["shape"].shape.dim
        )
        known = tf.TensorShape(None if said_nothing else node.attr["shape"].shape)
        sizes[node.name] = None if known.rank is None else known.as_list()
    options.check_inputs(sizes)
    said = []
    for node in placeholders:
        shape = options.shape(node.name, sizes[node.name])
        options.dtype(node.name, tf.as_dtype(node.attr["dtype"].type).name)
        node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        said.append(f"{node.name} {shape}")
    for node in graph_def.node:
        node.device = ""
        if node.op in _LOOPS:
            raise InputError(f"{node.name!r} is part of a loop; unroll it")
        if node.op in _BRANCHES:
            raise InputError(
                f"{node.name!r} is part of a branch, of which a step runs one side; build the graph"
                " for the side that trains"
            )
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
        if node.op == "PlaceholderWithDefault":
            dtype = node.attr["dtype"].type
            node.op = "Identity"
            node.ClearField("attr")
            node.attr["T"].type = dtype
    return [f"inputs {', '.join(said)}"] if said else []
