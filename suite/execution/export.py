"""Placed steps as files that plain TensorFlow loads: GraphDefs and SavedModels with devices."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from suite.capture.from_function import Program
from suite.capture.from_saved_model import USUAL
from suite.capture.load_model import SAVED_MODEL
from suite.capture.options import Options
from suite.capture.tensorflow_internals import Private
from suite.capture.tracing import program
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.core.quiet_tensorflow import QUIET
from suite.execution.arguments import Arguments, packed
from suite.execution.devices import names_on
from suite.execution.placed import read_graph_def
from suite.execution.placed_function import placed_function
from suite.formats.atomic import check_can_be_made, is_left_over, new_part, remove_parts
from suite.formats.interchange import read_placement
from suite.formats.machine_toml import load_machine

GRAPH_DEF = "graph.pb"
"""The file of an exported folder that is no SavedModel."""
_SAVED_MODEL = Private(
    "tensorflow.core.protobuf.saved_model_pb2",
    "SavedModel",
    "say in an exported SavedModel on which devices its variables are",
)
_VARIABLES = "placed_variables"


def tensorflow_devices(problem: Problem, placement: Placement, backend: str) -> dict[str, str]:
    """TensorFlow's device of every operation, as ``backend`` calls it."""
    names = names_on(problem.machine, backend)
    return {op: names[device] for op, device in placement.names(problem).items()}


def export_graph_def(graph_def: Path, devices: Mapping[str, str], folder: Path) -> Path:
    """Write a GraphDef with a device for every node into ``folder``; returns its path.

    Its variables (VarHandleOp) have no values: plain TensorFlow assigns or restores them.
    """
    whole = read_graph_def(graph_def)
    if sorted(node.name for node in whole.node) != sorted(devices):
        raise InputError(f"{graph_def} is not the GraphDef of the placed graph; capture it again")
    for node in whole.node:
        node.device = devices[node.name]
    with _new_folder(folder) as temporary:
        (temporary / GRAPH_DEF).write_bytes(whole.SerializeToString(deterministic=True))
    return folder / GRAPH_DEF


def export_program(
    program: Program, devices: Mapping[str, str], folder: Path, signature: str | None = None
) -> None:
    """Write a live program as a SavedModel with its variables' values and devices.

    ``tf.saved_model.load(folder).step`` is the step, called as the program's own; it is a
    ``signature``, too, where one is named.
    """
    import tensorflow as tf

    function = placed_function(program, devices)
    types = [tensor.dtype for tensor in function.outputs]
    arguments = Arguments(program.function, None)

    def step(*args: object, **kwargs: object) -> object:
        tensors = [*arguments.flat(args, kwargs), *function.captured_inputs]
        results = tf.raw_ops.StatefulPartitionedCall(args=tensors, Tout=types, f=function)
        return packed(program.function, results if types else ())

    step.__signature__ = arguments.signature  # type: ignore[attr-defined]
    module = tf.Module()
    module.step = tf.function(step, autograph=False)
    positional, keyword = program.function.structured_input_signature
    concrete = module.step.get_concrete_function(*positional, **keyword)
    signatures = None if signature is None else {signature: concrete}
    setattr(module, _VARIABLES, list(program.variables.values()))
    policy = tf.saved_model.experimental.VariablePolicy.SAVE_VARIABLE_DEVICES
    options = tf.saved_model.SaveOptions(experimental_variable_policy=policy)
    with _new_folder(folder) as temporary:
        tf.saved_model.save(module, str(temporary), signatures=signatures, options=options)
        of_variables = [devices[name] for name in program.variables]
        _put_variables(temporary / SAVED_MODEL, of_variables)


def _put_variables(path: Path, devices: Sequence[str]) -> None:
    """Say in a SavedModel where its variables are to be made: here those devices need not exist."""
    saved = _SAVED_MODEL.load()()
    saved.ParseFromString(path.read_bytes())
    nodes = saved.meta_graphs[0].object_graph_def.nodes
    children = {child.local_name: child.node_id for child in nodes[0].children}
    listed = nodes[children[_VARIABLES]].children
    for child in listed:
        nodes[child.node_id].variable.device = devices[int(child.local_name)]
    path.write_bytes(saved.SerializeToString(deterministic=True))


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes ``folder``, which must not be there or be empty."""
    check_free(folder)
    there = folder.exists()
    within = folder if there else folder.parent
    remove_parts(within)
    temporary = new_part(within)
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if there:  # perhaps mounted, or in a folder that is not ours: it stays what it is
            for part in temporary.iterdir():
                part.replace(folder / part.name)
        else:
            temporary.replace(folder)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def check_free(folder: Path) -> None:
    """Raise InputError where something would be overwritten, or no folder can be made.

    What a killed export has left in the folder is in nobody's way.
    """
    if folder.exists() and (not folder.is_dir() or not all(map(is_left_over, folder.iterdir()))):
        raise InputError(f"{folder} is there and not empty; name another folder, or remove it")
    check_can_be_made(folder / GRAPH_DEF)


def export_live(request: object) -> dict[str, str]:
    """Child process: capture the program that the JSON ``request`` names, and export it.

    Returns ``{"error": ..., "warnings": ...}``: one line, empty when all went well, and a line for
    each warning.
    """
    os.environ |= QUIET | {"CUDA_VISIBLE_DEVICES": ""}
    wish = json.loads(str(request))
    folder = Path(wish["folder"])
    try:
        machine = load_machine(wish["machine"])
        if wish["gpus"] is not None:
            machine = machine.with_gpus(wish["gpus"])
        found = program(wish["kind"], wish["model"], Options.from_json(wish["options"]))
        problem = Problem.create(found.graph, machine)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            placement = read_placement(Path(wish["placement"]), problem)
        devices = tensorflow_devices(problem, placement, wish["backend"])
        signature = USUAL if wish["kind"] == "saved_model" else None
        export_program(found, devices, folder, signature)
    except InputError as error:
        return {"error": str(error), "warnings": ""}
    return {"error": "", "warnings": "\n".join(str(one.message) for one in caught)}
