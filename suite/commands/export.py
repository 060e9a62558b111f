"""placebench export: write a placed model for plain TensorFlow."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suite.commands._common import (
    MODELS,
    Subparsers,
    add_placement,
    add_problem_arguments,
    command,
    machine_name,
    machine_of,
    options_of,
    problem_of,
)
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.capture.options import Options

EXAMPLES = """  placebench export my_package.net:step --gpus 2 --placement p.json --output DIR
  placebench export net.keras --gpus 2 --placement p.json --output DIR
  placebench export frozen.pb --gpus 2 --placement p.json --output DIR --backend cluster
"""
_TIMEOUT = 3600.0
"""Seconds that capturing and writing may take."""
_LIVE = ("function", "keras", "saved_model")
"""Kinds of models whose variables have values."""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "export",
        "Write a model with the devices of a placement, for plain TensorFlow: of a Python step, a"
        " Keras model or a SavedModel a SavedModel with the variables' values, of a task or a"
        " GraphDef a GraphDef (graph.pb).",
        EXAMPLES + MODELS,
    )
    add_problem_arguments(parser)
    add_placement(parser, required=True)
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="new folder to write"
    )
    parser.add_argument(
        "--backend",
        default="session",
        metavar="NAME",
        help="whose names devices get: session (CPU:1 of one process) or cluster (CPU:0 of worker"
        " 1) (session)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, or nothing."""
    from suite.capture.load_model import kind_of
    from suite.execution.backends import TENSORFLOW
    from suite.execution.export import check_free
    from suite.search.registry import unknown

    if arguments.backend not in TENSORFLOW:
        raise unknown(arguments.backend, "backend of TensorFlow's", TENSORFLOW)
    check_free(arguments.output)
    kind = "graph" if arguments.model is None else kind_of(arguments.model)
    if kind == "openvino":
        raise InputError(
            f"{arguments.model} is OpenVINO's, and export writes what TensorFlow runs; run a"
            " placement of it with placebench run --backend openvino"
        )
    if kind == "keras" and not Path(arguments.model).exists():
        raise InputError(f"cannot read {arguments.model}: no such file; check the path")
    if kind in _LIVE:
        written = _export_live(arguments, kind, options_of(arguments))
    else:
        written = _export_graph(arguments)
    if arguments.json:
        print(json.dumps(written, indent=1))
    else:
        used = ", ".join(f"{name} is {full}" for name, full in written["devices"].items())
        print(f"wrote {written['path']}, a {written['format']}\ndevices    {used}")
    return 0


def _export_graph(arguments: argparse.Namespace) -> dict[str, Any]:
    from suite.core.quiet_tensorflow import quiet_start
    from suite.execution.devices import names_on
    from suite.execution.export import export_graph_def, tensorflow_devices
    from suite.execution.steps import graph_def_behind
    from suite.formats.interchange import read_placement

    loaded, problem = problem_of(arguments)
    placement = read_placement(arguments.placement, problem)
    with quiet_start():
        import tensorflow  # noqa: F401
    devices = tensorflow_devices(problem, placement, arguments.backend)
    path = export_graph_def(graph_def_behind(loaded), devices, arguments.output)
    names = names_on(problem.machine, arguments.backend)
    return {"path": str(path), "format": "GraphDef", "devices": names}


def _export_live(arguments: argparse.Namespace, kind: str, options: Options) -> dict[str, Any]:
    """Capture and write in a child process: there the variables are, with their values."""
    from suite.capture.load_model import check_options
    from suite.execution.devices import names_on
    from suite.search.subprocess_call import call

    check_options(arguments.model, kind, options)
    machine = machine_of(arguments)
    request = {
        "kind": kind,
        "model": arguments.model,
        "options": asdict(options),
        "machine": machine_name(arguments),
        "gpus": arguments.gpus,
        "placement": str(arguments.placement),
        "backend": arguments.backend,
        "folder": str(arguments.output),
    }
    print(f"placebench: capturing {arguments.model}", file=sys.stderr, flush=True)
    function = "suite.execution.export:export_live"
    answer = call(
        f"exporting {arguments.model}", function, {"request": json.dumps(request)}, _TIMEOUT
    )
    if str(answer["error"]):
        raise InputError(str(answer["error"]))
    for line in str(answer["warnings"]).splitlines():
        warnings.warn(line, stacklevel=2)
    names = names_on(machine, arguments.backend)
    return {"path": str(arguments.output), "format": "SavedModel", "devices": names}
