"""A captured step with a device for every operation, as a function over its own variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from suite.capture.from_function import Program
from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction

_ARGUMENT = "placebench_argument"


def placed_function(program: Program, devices: Mapping[str, str]) -> ConcreteFunction:
    """A ``ConcreteFunction`` of flat tensors that runs a program where ``devices`` says.

    ``devices`` is TensorFlow's device for the name of every operation. Inputs and outputs are the
    program's, in order; it captures the program's variables, in the order of
    ``program.variables``. What computes is the captured graph, operation by operation: an argument
    arrives at an Identity on the device of its placeholder, and is sent on from there. InputError
    for what the program takes or returns that its graph has lost.
    """
    import tensorflow as tf

    check_placeable(program)
    function = program.function
    count = _count(function)
    arguments = {tensor.op.name: i for i, tensor in enumerate(function.inputs[:count])}
    graph_def = _body(program.captured.graph_def, arguments, devices)
    outputs = [tensor.name for tensor in function.outputs]
    read = {name.lstrip("^").split(":")[0] for node in graph_def.node for name in node.input}

    def step(*tensors: tf.Tensor) -> Sequence[tf.Tensor]:
        graph = tf.compat.v1.get_default_graph()
        given = {f"{_ARGUMENT}_{i}": tensor for i, tensor in enumerate(tensors)}
        for name, variable in program.variables.items():
            given[name] = graph.capture(variable.handle)
        wanted = [*outputs, *program.targets]
        used = {name: tensor for name, tensor in given.items() if name in read}
        found = tf.import_graph_def(graph_def, used, return_elements=wanted, name="")
        # Side effects: what a function runs although none of its outputs needs it.
        graph.control_outputs.extend(found[len(outputs) :])
        results: list[tf.Tensor] = found[: len(outputs)]
        return results

    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in function.inputs[:count]]
    return tf.compat.v1.wrap_function(step, specs)


def check_placeable(program: Program) -> None:
    """Raise InputError for what a program takes or returns that its graph has lost."""
    function = program.function
    if _count(function) + len(function.graph.captures) != len(function.inputs):
        raise InputError(
            "the step captures values that change from call to call; pass them as arguments"
        )
    nodes = program.captured.graph_def.node
    for node in nodes:
        if node.op == "VarHandleOp" and node.name not in program.variables:
            raise InputError(f"TensorFlow does not say which variable is behind {node.name!r}")
    computed = {node.name for node in nodes if node.op != "VarHandleOp"}
    for tensor in function.outputs:
        if tensor.op.name not in computed:
            raise InputError(
                f"the step returns {tensor.name!r} straight out of a function that it calls; return"
                " tf.identity of it"
            )


def _count(function: ConcreteFunction) -> int:
    """How many of the inputs are arguments."""
    return len(function.inputs) - len(function.captured_inputs)


def _body(
    captured: tf.compat.v1.GraphDef, arguments: Mapping[str, int], devices: Mapping[str, str]
) -> tf.compat.v1.GraphDef:
    """The captured graph with devices, without handles, its placeholders turned to identities."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef(versions=captured.versions)
    handles = {f"^{node.name}" for node in captured.node if node.op == "VarHandleOp"}
    for node in captured.node:
        if node.op == "VarHandleOp":
            continue
        new = graph_def.node.add()
        new.CopyFrom(node)
        new.device = devices[node.name]
        # Handles are captured, and there when the step begins: nothing waits for one.
        new.input[:] = [name for name in node.input if name not in handles]
        if node.op == "Placeholder":
            new.op = "Identity"
            new.ClearField("attr")
            new.attr["T"].type = node.attr["dtype"].type
            new.input.append(f"{_ARGUMENT}_{arguments[node.name]}")
    return graph_def
