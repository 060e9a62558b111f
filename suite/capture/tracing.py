"""The child process that captures a model with TensorFlow."""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from suite.capture.load_model import Options, graph_def_beside
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.capture.from_function import Program
    from suite.capture.to_graph import Captured


def trace(request: object, path: object) -> dict[str, str]:
    """Capture what the JSON ``request`` names into the graph file ``path``, and what runs it.

    The GraphDef lies beside the graph (:func:`graph_def_beside`).

    Returns ``{"error": ...}``: one line, empty when all went well.
    """
    # Placing needs no GPU, and two processes would quarrel about its memory.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    wish = json.loads(str(request))
    try:
        options = Options.from_json(wish["options"])
        _save(_captured(wish["kind"], wish["model"], options), wish["model"], Path(str(path)))
    except InputError as error:
        return {"error": str(error)}
    return {"error": ""}


def _save(captured: Captured, model: str, path: Path) -> None:
    from suite.formats.atomic import atomic
    from suite.formats.graph_npz import save_graph

    if not captured.graph.n_ops:
        raise InputError(f"{model}: nothing is left after pruning; return what the step computes")
    with atomic(graph_def_beside(path)) as temporary:
        payload = captured.graph_def.SerializeToString(deterministic=True)
        temporary.write_bytes(gzip.compress(payload, mtime=0))
    # Last: where it is, the other one is whole.
    save_graph(captured.graph, path)


def _captured(kind: str, model: str, options: Options) -> Captured:
    if kind == "graph_def":
        from suite.capture import from_graph_def

        return from_graph_def.capture_file(model, options)
    return program(kind, model, options).captured


def program(kind: str, model: str, options: Options) -> Program:
    """Capture a Keras file, or ``module:function`` from this folder, with its variables alive."""
    if kind == "keras":
        from suite.capture import from_keras

        return from_keras.capture_file(model, options)
    from suite.capture import from_module

    # Only now, so that a folder "suite" of the user's does not hide ours.
    sys.path.insert(0, os.getcwd())
    return from_module.capture_target(model, options)
