"""A user's own training step, run where a placement says: ``suite.apply``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from suite.capture.from_function import Program
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.placement import check_operations
from suite.execution.arguments import Arguments, packed
from suite.execution.devices import names_here
from suite.execution.placed_function import check_placeable, placed_function
from suite.execution.variables import check_movable, move


class PlacedStep:
    """A training step whose operations run on the devices of a placement; call it like the step."""

    def __init__(self, program: Program, devices: Mapping[str, str], arguments: Arguments) -> None:
        """Move the program's variables to their ``devices`` (full name, by operation)."""
        self.devices = dict(devices)
        """TensorFlow's device of every operation."""
        self.variables = tuple(program.variables.values())
        """The variables that the step reads or changes: the user's own objects."""
        self.__signature__ = arguments.signature
        self._arguments, self._program = arguments, program
        # Before anything moves: what cannot be applied leaves the variables where they are.
        check_placeable(program)
        for name, variable in program.variables.items():
            check_movable(name, variable)
        self._function = placed_function(program, devices)
        move((variable, devices[name]) for name, variable in program.variables.items())
        self._handles = [variable.handle for variable in self.variables]
        self._types = [tensor.dtype for tensor in self._function.outputs]

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run one step; the same results as the step itself, on the devices of the placement.

        Raises InputError for arguments other than the captured step's, where the variables have
        moved since, and inside of a ``tf.function``, whose own optimizers would move operations.
        """
        import tensorflow as tf

        if not tf.executing_eagerly():
            raise InputError(
                "a placed step was called in a tf.function, in which TensorFlow may move its"
                " operations; call it from plain Python"
            )
        for variable, handle in zip(self.variables, self._handles, strict=True):
            if variable.handle is not handle:
                raise InputError(
                    f"variable {variable.name!r} has moved to {variable.device} since the placement"
                    " was applied; apply it again"
                )
        tensors = self._arguments.flat(args, kwargs)
        results = tf.raw_ops.StatefulPartitionedCall(
            args=[*tensors, *self._handles],
            Tout=self._types,
            f=self._function,
            config_proto=_exact(),
        )
        return packed(self._program.function, results if self._types else ())


def _exact() -> bytes:
    """Settings under which TensorFlow moves, merges and folds nothing, or refuses to run."""
    import tensorflow as tf

    settings = tf.compat.v1.ConfigProto(allow_soft_placement=False)
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = -1
    serialised: bytes = settings.SerializeToString(deterministic=True)
    return serialised


def apply(
    step: object,
    placement: str | Path | Mapping[str, str],
    devices: Mapping[str, str] | None = None,
    *,
    batch: int | None = None,
    inputs: Mapping[str, tuple[int, ...]] | None = None,
    types: Mapping[str, str] | None = None,
) -> PlacedStep:
    """Run a training step where a placement says.

    ``step`` is what ``placebench place`` took as MODEL, as a Python object: a ``tf.function`` with
    an input_signature, a concrete function, a pair (``tf.function``, [``tf.TensorSpec``, ...]), or
    a Keras model, whose training step takes its inputs, then its labels, and returns the loss.
    ``placement`` is the file that ``placebench place --output`` wrote, or its mapping of operation
    names to device names. ``devices`` maps these to TensorFlow's, such as ``{"gpu:0": "CPU:1"}``
    or, after ``tf.config.experimental_connect_to_cluster``, ``{"cpu:1":
    "/job:worker/task:1/device:CPU:0"}``; without it, ``cpu:1`` is the second logical CPU here.
    ``batch`` and ``inputs`` complete the open shapes of a Keras model, and ``types`` the types that
    it does not say, as ``--batch`` and ``--input`` do.

    The variables are moved with their values and stay the same Python objects: layers, optimizers,
    checkpoints and functions that have been traced go on working. The operations are those of the
    captured step: nested functions inlined, constants folded, nothing else changed; results differ
    from the step's own by rounding, since TensorFlow merges operations in that one. No gradients
    are recorded through a placed step. Random operations with a state of their own draw other
    numbers.

    Raises InputError, with names, for what cannot be captured (loops and branches that stay
    functions, resources other than variables), a placement of another graph, a device that is not
    here or has no kernel, operations on different devices that share a variable, and variables that
    cannot move. Warns where a Keras model would go on with an optimizer other than its own, and
    where its ``fit`` is compiled by XLA, which has one device.
    """
    import keras

    from suite.capture.from_module import capture_step
    from suite.capture.options import Options
    from suite.formats.interchange import read_placement_names

    traced = step[0] if isinstance(step, tuple | list) and step else step
    name = str(getattr(traced, "__name__", None) or getattr(traced, "name", None) or "the step")
    program = capture_step(name, step, Options(batch, inputs or {}, types or {}))
    if isinstance(placement, Mapping):
        names = dict(placement)
    else:  # called from here, so that its warning is of the caller's line
        names = read_placement_names(Path(placement), program.graph)
    _check(program, names)
    there = names_here(names.values(), devices)
    full = {op: there[device] for op, device in names.items()}
    _check_kernels(program.graph, full)
    _warn_of_keras(step, program, full)
    python = getattr(traced, "python_function", None)
    casts = isinstance(step, keras.Model)
    return PlacedStep(program, full, Arguments(program.function, python, casts=casts))


def _check_kernels(graph: OpGraph, devices: Mapping[str, str]) -> None:
    """Raise InputError where an operation without a kernel for GPUs is to be on one.

    A placement made for CPUs may have been mapped to GPUs.
    """
    for op, kernel in zip(graph.op_names, graph.gpu_kernel.tolist(), strict=True):
        if not kernel and ":GPU:" in devices[op]:
            raise InputError(
                f"operation {op!r} has no GPU kernel but would be on {devices[op]}; place it for a"
                " machine whose device of that name is a GPU, or name another with devices="
            )


def _warn_of_keras(step: object, program: Program, devices: Mapping[str, str]) -> None:
    """Warn of what a Keras model does otherwise than its user may think."""
    if not getattr(step, "compiled", False):  # none of Keras' that has an optimizer
        return
    optimizer, used = getattr(step, "optimizer", None), program.variables
    own = {id(variable.value) for variable in getattr(optimizer, "variables", ())}
    if own.isdisjoint(map(id, used.values())):
        warnings.warn(
            "the model's optimizer is of other variables than are trained now: the placed step has"
            " a fresh one of its settings; compile the model again before",
            stacklevel=3,
        )
    if getattr(step, "jit_compile", False) and len({devices[name] for name in used}) > 1:
        warnings.warn(
            "the model's own fit is compiled by XLA, which refuses variables on several devices:"
            " for fit, evaluate and predict after this, compile the model with jit_compile=False",
            stacklevel=3,
        )


def _check(program: Program, names: Mapping[str, str]) -> None:
    """Raise InputError unless ``names`` has all operations and keeps together what must be."""
    graph = program.graph
    check_operations(graph, names, _made_otherwise)
    first_of: dict[int, str] = {}
    for op, group in zip(graph.op_names, graph.colocation.tolist(), strict=True):
        leader = first_of.setdefault(group, op)
        if names[op] != names[leader]:
            raise InputError(
                f"operations {leader!r} and {op!r} must share a device but are on {names[leader]}"
                f" and {names[op]}"
            )


def _made_otherwise(missing: Sequence[str], unknown: Sequence[str]) -> str:
    """What to do about the names of a step that has ``missing`` in place of ``unknown``."""
    if sorted(map(_unnumbered, missing)) != sorted(map(_unnumbered, unknown)):
        return (
            "place this very step, made in the same order as then, since Keras numbers layers as"
            " they are made"
        )
    there = {_unnumbered(name): name for name in reversed(unknown)}
    pairs = zip(missing[0].split("/"), there[_unnumbered(missing[0])].split("/"), strict=True)
    here, then = next((one, other) for one, other in pairs if one != other)
    return (
        f"what has no name is numbered as it is made, {here!r} here and {then!r} when it was"
        " placed: give it one (of a Keras program the layers, the model and the optimizer), or make"
        " all in the same order as then"
    )


def _unnumbered(name: str) -> str:
    """The name of an operation without the numbers that set scopes of one name apart."""
    return re.sub(r"_\d+(?=[/_]|$)", "", name)
