"""Concrete functions -> graphs to place, with the Python objects behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.flatten import lift
from suite.capture.inline_calls import inline
from suite.capture.to_graph import Captured, capture_graph_def
from suite.core.errors import InputError
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    import tensorflow as tf
    from tensorflow.types.experimental import ConcreteFunction


@dataclass(frozen=True, eq=False)
class Program:
    """A captured training step that is still alive: its function and its variables."""

    captured: Captured
    function: ConcreteFunction
    """What was captured."""
    variables: Mapping[str, tf.Variable]
    """The variable behind every VarHandleOp that the captured step still has, in its order."""
    targets: tuple[str, ...]
    """Operations that a step runs: its outputs and its side effects."""

    @property
    def graph(self) -> OpGraph:
        """The graph to place."""
        return self.captured.graph


def capture_function(function: ConcreteFunction, name: str, choices: Sequence[str] = ()) -> Program:
    """Capture a ``tf.ConcreteFunction`` that may call others; InputError begins with ``name``."""
    try:
        variables = function.graph.trainable_variables
    except AssertionError:
        raise InputError(
            f"{name}: the step's variables are gone; return the tf.function, or keep its model in a"
            " global variable"
        ) from None
    facts = {
        "source": name,
        "parameters": sum(int(v.shape.num_elements() or 0) for v in variables),
    }
    try:
        graph_def, wanted = lift(function)
        if not wanted:
            raise InputError("the step computes nothing; return its loss")
        behind = _variables(function, graph_def)
        flat, targets, taken = inline(graph_def, wanted)
        facts["choices"] = [*choices, *taken]
        captured = capture_graph_def(flat, targets, name, facts)
        kept = [name for name in captured.graph.op_names if name in behind]
        return Program(captured, function, {name: behind[name] for name in kept}, tuple(targets))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except Exception as error:
        raise InputError(f"TensorFlow cannot use {name}: {describe_exception(error)}") from None


def _variables(function: ConcreteFunction, lifted: tf.compat.v1.GraphDef) -> dict[str, tf.Variable]:
    """The variable behind every VarHandleOp of a lifted function, where TensorFlow knows it.

    Lifting renames the placeholders of handles and leaves all nodes where they are.
    """
    known = {id(variable.handle): variable for variable in function.graph.variables}
    behind = {handle.op.name: known.get(id(outer)) for outer, handle in function.graph.captures}
    before = function.graph.as_graph_def().node
    pairs = zip(before, lifted.node, strict=True)
    found = {new.name: behind.get(old.name) for old, new in pairs if new.op == "VarHandleOp"}
    return {name: variable for name, variable in found.items() if variable is not None}
