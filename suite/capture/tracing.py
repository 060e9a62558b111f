"""The child process that captures a model with TensorFlow."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from suite.capture.load_model import Options
from suite.core.errors import InputError
from suite.core.graph import OpGraph


def trace(request: object, path: object) -> dict[str, str]:
    """Capture what the JSON ``request`` names into the graph file ``path``.

    Returns ``{"error": ...}``: one line, empty when all went well.
    """
    # Placing needs no GPU, and two processes would quarrel about its memory.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    wish = json.loads(str(request))
    options = wish["options"]
    inputs = {name: tuple(shape) for name, shape in options["inputs"].items()}
    try:
        _save(
            wish["kind"],
            wish["model"],
            Options(options["batch"], inputs, tuple(options["fetch"]), options["trust"]),
            Path(str(path)),
        )
    except InputError as error:
        return {"error": str(error)}
    return {"error": ""}


def _save(kind: str, model: str, options: Options, path: Path) -> None:
    from suite.formats.graph_npz import save_graph

    graph = _captured(kind, model, options)
    if not graph.n_ops:
        raise InputError(f"{model}: nothing is left after pruning; return what the step computes")
    save_graph(graph, path)


def _captured(kind: str, model: str, options: Options) -> OpGraph:
    if kind == "graph_def":
        from suite.capture import from_graph_def

        return from_graph_def.capture_file(model, options)
    if kind == "keras":
        from suite.capture import from_keras

        return from_keras.capture_file(model, options)
    from suite.capture import from_module

    # Only now, so that a folder "suite" of the user's does not hide ours.
    sys.path.insert(0, os.getcwd())
    return from_module.capture_target(model, options)
