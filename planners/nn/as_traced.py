"""Functions that TensorFlow runs as they were traced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from planners.nn.backend import tf


def as_traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Trace ``function`` once, and never let TensorFlow rewrite the graph.

    What rewrites graphs (Grappler) may add up terms in the order of its own objects' addresses,
    which every process has anew, so that the same seed would round differently in two processes.
    """
    traced = tf.function(function, autograph=False)

    def call(*arguments: Any) -> Any:
        with _options(disable_meta_optimizer=True):
            return traced(*arguments)

    return call


@contextmanager
def _options(**options: bool) -> Iterator[None]:
    """Set TensorFlow's options of the optimizer of graphs for what is called here."""
    before = tf.config.optimizer.get_experimental_options()
    tf.config.optimizer.set_experimental_options(options)
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False, **before})
