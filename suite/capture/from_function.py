"""Concrete functions -> OpGraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suite.capture.flatten import lift
from suite.capture.inline_calls import inline
from suite.capture.to_graph import capture_graph_def
from suite.capture.user_errors import told
from suite.core.errors import InputError
from suite.core.graph import OpGraph


def capture_function(function: Any, name: str, choices: Sequence[str] = ()) -> OpGraph:
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
        raise InputError(f"TensorFlow cannot use {name}: {told(error)}") from None
