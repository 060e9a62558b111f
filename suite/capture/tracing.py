"""The child process that captures a model with TensorFlow or OpenVINO."""

from __future__ import annotations

import gc
import gzip
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.load_model import graph_def_beside, kind_of
from suite.capture.options import Options
from suite.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import openvino
    import tensorflow as tf

    from suite.capture.from_function import Program
    from suite.core.graph import OpGraph


def trace(request: object, path: object) -> dict[str, str]:
    """Capture what the JSON ``request`` names into the graph file ``path``, and what runs it.

    The GraphDef lies beside the graph (:func:`graph_def_beside`).

    Returns ``{"error": ...}``: one line, empty when all went well.
    """
    # A graph under construction is all alive: looking for garbage in it finds none.
    gc.disable()
    # Placing needs no GPU, and two processes would quarrel about its memory.
    # Of Keras' backends only TensorFlow makes graphs, whatever the user's own choice is.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    os.environ["KERAS_BACKEND"] = "tensorflow"
    wish = json.loads(str(request))
    try:
        options = Options.from_json(wish["options"])
        graph, graph_def = _captured(wish["kind"], wish["model"], options)
        _save(graph, graph_def, wish["model"], Path(str(path)))
    except InputError as error:
        return {"error": str(error)}
    return {"error": ""}


def _save(graph: OpGraph, graph_def: tf.compat.v1.GraphDef | None, model: str, path: Path) -> None:
    from suite.formats.atomic import atomic
    from suite.formats.graph_npz import save_graph

    if not graph.n_ops:
        raise InputError(f"{model}: nothing is left after pruning; return what the step computes")
    if graph_def is not None:
        with atomic(graph_def_beside(path)) as temporary:
            payload = graph_def.SerializeToString(deterministic=True)
            temporary.write_bytes(gzip.compress(payload, mtime=0))
    # Last: where it is, the other one is whole.
    save_graph(graph, path)


def _captured(
    kind: str, model: str, options: Options
) -> tuple[OpGraph, tf.compat.v1.GraphDef | None]:
    """The graph, and the GraphDef of what TensorFlow runs."""
    if kind == "openvino":
        from suite.capture.openvino.read import keep_to_ourselves, read_file

        keep_to_ourselves()
        return _of_openvino(*read_file(model, options), model), None
    if kind == "graph_def":
        from suite.capture import from_graph_def

        captured = from_graph_def.capture_file(model, options)
    elif kind in ("keras", "saved_model"):
        captured = program(kind, model, options).captured
    else:
        from suite.capture import from_module
        from suite.capture.openvino.read import convert, is_network, keep_to_ourselves

        keep_to_ourselves()
        found = _found(model)
        if is_network(found):
            return _of_openvino(*convert(model, found, options), model), None
        captured = from_module.capture_step(model, found, options).captured
    return captured.graph, captured.graph_def


def _of_openvino(network: openvino.Model, chosen: Sequence[str], model: str) -> OpGraph:
    from suite.capture.openvino.to_graph import to_graph

    return to_graph(network, model, {"choices": [*chosen]})


def network(model: str, options: Options) -> openvino.Model:
    """The model of OpenVINO's that a MODEL stands for: a task, a file or ``module:function``.

    InputError if it is none, or as for a capture.
    """
    from suite.capture.openvino.read import as_stored, convert, is_network, read_file
    from suite.search.registry import task

    kind = kind_of(model)
    if kind == "task":
        return as_stored(task(model).build())
    if kind == "openvino":
        return read_file(model, options)[0]
    found = _found(model)
    if not is_network(found):
        raise InputError(f"{model} is no model of OpenVINO's; take backend session or cluster")
    return convert(model, found, options)[0]


def program(kind: str, model: str, options: Options) -> Program:
    """Capture a Keras file, a SavedModel, or ``module:function`` from this folder.

    Its variables are alive.
    """
    if kind == "keras":
        from suite.capture import from_keras

        return from_keras.capture_file(model, options)
    if kind == "saved_model":
        from suite.capture import from_saved_model

        return from_saved_model.capture_folder(model, options)
    from suite.capture import from_module

    return from_module.capture_step(model, _found(model), options)


def _found(target: str) -> object:
    """What ``module:function`` of this folder is, or returns."""
    from suite.capture import from_module

    # Only now, so that a folder "suite" of the user's does not hide ours.
    sys.path.insert(0, os.getcwd())
    return from_module.found(target)
