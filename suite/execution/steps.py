"""The step that a backend runs: TensorFlow's, or an inference of OpenVINO's."""

from __future__ import annotations

from pathlib import Path

from suite.capture.load_model import Loaded
from suite.capture.options import Options
from suite.capture.reference_variables import REFERENCE_VARIABLES
from suite.core.errors import InputError
from suite.execution.measurement import Step
from suite.execution.openvino.network import Network

OPENVINO = "openvino"


def step_of(
    loaded: Loaded, backend: str, model: str | None, options: Options, seed: int = 0
) -> Step:
    """The step of a loaded MODEL; InputError where ``backend`` cannot run it, or nothing says how.

    That is before any backend starts, and before a search whose answers are to be run.
    """
    names, from_openvino = loaded.graph.op_names, OPENVINO in loaded.graph.metadata
    if backend == OPENVINO:
        if not from_openvino or model is None or model.endswith((".json", ".npz")):
            raise InputError(
                f"{loaded.origin} is no model of OpenVINO's; name a task or a file that is, or take"
                " backend session or cluster"
            )
        return Network.of(model, names, options, seed)
    for name, op_type in zip(names, loaded.graph.op_types, strict=True):
        if op_type in REFERENCE_VARIABLES:  # no backend gives them values
            raise InputError(
                f"{loaded.origin} cannot be run: {name!r} is a reference variable; make the graph"
                " after tf.compat.v1.enable_resource_variables(), or its variables by"
                " tf.compat.v1.get_variable(..., use_resource=True)"
            )
    return Step(graph_def_behind(loaded), names, seed)


def graph_def_behind(loaded: Loaded) -> Path:
    """The GraphDef of a loaded MODEL; InputError where it has none."""
    if loaded.graph_def is not None:
        return loaded.graph_def
    if OPENVINO in loaded.graph.metadata:
        raise InputError(f"{loaded.origin} is OpenVINO's; run it with --backend openvino")
    raise InputError(
        f"{loaded.origin} says nothing of how it runs: its GraphDef is not beside it, by the same"
        " name with the suffix .pb; placebench graph MODEL --output FILE writes both"
    )


def step_of_task(name: str, backend: str) -> Step:
    """The step of a task, captured first if need be; InputError as :func:`step_of`."""
    from suite.capture.load_model import load

    return step_of(load(name, Options()), backend, name, Options())
