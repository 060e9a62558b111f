"""Small GraphDefs whose times tell a device's and a link's figures. A leaf: loads TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from suite.core.arrays import Ints
from suite.core.quiet_tensorflow import quiet_start
from suite.execution.measurement import Step

if TYPE_CHECKING:
    import tensorflow as tf


@dataclass(frozen=True, eq=False)
class Probe:
    """A step, and which of its operations go to a second device."""

    step: Step
    second: Ints
    """bool[ops] as 0 and 1: whether the operation belongs on the receiving device."""

    def devices(self, first: int, second: int) -> Ints:
        """int64[ops]: a placement on two devices, or on one."""
        return np.where(self.second, second, first)


def _probe(folder: Path, name: str, build: Callable[[], None]) -> Probe:
    with quiet_start():
        import tensorflow as tf

    with tf.Graph().as_default() as graph:
        build()
    path = folder / f"{name}.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    names = tuple(op.name for op in graph.get_operations())
    second = np.array([n.startswith("there/") for n in names], np.int64)
    return Probe(Step(path, names), second)


def _filled(shape: list[int]) -> tf.Tensor:
    """A tensor made at run time (an input's value is known in advance, a Fill's is not)."""
    import tensorflow as tf

    return tf.fill(shape, tf.compat.v1.placeholder(tf.float32, [], name="edge"), name="filled")


def products(folder: Path, size: int, count: int) -> Probe:
    """A chain of ``count`` products ``product_i`` of square matrices."""

    def build() -> None:
        import tensorflow as tf

        matrix = result = _filled([size, size])
        for i in range(count):
            result = tf.matmul(result, matrix, name=f"product_{i}")

    return _probe(folder, "products", build)


def sums(folder: Path, elements: int, count: int) -> Probe:
    """``count`` sums ``sum_i`` of two vectors, one after another."""

    def build() -> None:
        import tensorflow as tf

        vector = result = _filled([elements])
        for i in range(count):
            result = tf.add(result, vector, name=f"sum_{i}")

    return _probe(folder, "sums", build)


def convolutions(folder: Path, count: int) -> Probe:
    """``count`` convolutions ``convolution_i``: 3 x 3, 64 channels, 8 images of 32 x 32."""

    def build() -> None:
        import tensorflow as tf

        result = _filled([8, 32, 32, 64])
        kernel = tf.fill([3, 3, 64, 64], result[0, 0, 0, 0], name="kernel")
        for i in range(count):
            result = tf.nn.conv2d(result, kernel, 1, "SAME", name=f"convolution_{i}")

    return _probe(folder, "convolutions", build)


CONVOLUTION_FLOPS = 2.0 * 8 * 32 * 32 * 64 * 64 * 9
"""FLOP of one of them, zeros at the border counted."""


def small_ops(folder: Path, kind: str, count: int) -> Probe:
    """A chain of ``count`` operations on one number: ``launched`` (Neg) or ``host`` (Identity)."""

    def build() -> None:
        import tensorflow as tf

        result = _filled([1])
        make = tf.negative if kind == "launched" else tf.identity
        for i in range(count):
            result = make(result, name=f"{kind}_{i}")

    return _probe(folder, f"{kind}_{count}", build)


def hops(folder: Path, size: int, count: int) -> Probe:
    """``count`` transfers of ``size`` bytes there, each begun by an empty signal back."""

    def build() -> None:
        import tensorflow as tf

        source, signal = _filled([max(1, size // 4)]), None
        for i in range(count):
            with tf.control_dependencies([] if signal is None else [signal]):
                sent = tf.identity(source, name=f"sent_{i}")
            arrived = tf.identity(sent, name=f"there/arrived_{i}")
            with tf.control_dependencies([arrived]):
                signal = tf.no_op(name=f"back_{i}")

    return _probe(folder, f"hops_{size}", build)


def burst(folder: Path, count: int) -> Probe:
    """``count`` transfers of one number each, none of which waits for another."""

    def build() -> None:
        import tensorflow as tf

        source = _filled([1])
        for i in range(count):
            sent = tf.identity(source, name=f"sent_{i}")
            tf.identity(sent, name=f"there/arrived_{i}")

    return _probe(folder, "burst", build)


def beside(folder: Path, size: int, products: int, transfers: int, receiving: bool) -> Probe:
    """A chain of ``products`` on one device, and ``transfers`` of ``size`` bytes for each of them.

    The chain is the sender's, each product followed by its transfers; or, where ``receiving``, the
    receiver's, which is sent to as fast as it goes.
    """

    def build() -> None:
        import tensorflow as tf

        where = "there" if receiving else "here"
        with tf.name_scope(where):
            matrix = result = _filled([BESIDE, BESIDE])
        source = _filled([max(1, size // 4)])
        for i in range(products):
            result = tf.matmul(result, matrix, name=f"{where}/product_{i}")
            for j in range(transfers):
                with tf.control_dependencies([] if receiving else [result]):
                    sent = tf.identity(source, name=f"sent_{i}_{j}")
                tf.identity(sent, name=f"there/arrived_{i}_{j}")

    return _probe(folder, f"beside_{size}_{receiving}", build)


BESIDE = 768
"""Rows of the matrices of that chain: a product takes far longer than the transfers beside it."""
