"""Concrete functions -> OpGraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from suite.capture.describe_exception import describe_exception
from suite.capture.flatten import lift
from suite.capture.inline_calls import inline
from suite.capture.to_graph import capture_graph_def
from suite.core.errors import InputError
from suite.core.graph import OpGraph

if TYPE_CHECKING:
    from tensorflow.types.experimental import ConcreteFunction


def capture_function(function: ConcreteFunction, name: str, choices: Sequence[str] = ()) -> OpGraph:
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
        "parameters": sum(int(v.shape.num_elements()) for v in variables),
        "choices": list(choices),
    }
    try:
        graph_def, wanted = lift(function)
        if not wanted:
            raise InputError("the step computes nothing; return its loss")
        return capture_graph_def(*inline(graph_def, wanted), name, facts).graph
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except Exception as error:
        raise InputError(f"TensorFlow cannot use {name}: {describe_exception(error)}") from None
