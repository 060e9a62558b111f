"""FLOP of convolutions and matrix products, from their shapes: two for each term of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from suite.capture.upper_bounds import shape_of

if TYPE_CHECKING:
    import tensorflow as tf


def product_flops(op: tf.Operation) -> float | None:
    """FLOP of a ``tf.Operation``; None where it is no such product, or a shape is not known."""
    flops = _real_flops(op)
    # A complex product takes four real ones, and as many sums.
    return 4 * flops if flops is not None and op.outputs[0].dtype.is_complex else flops


def _real_flops(op: tf.Operation) -> float | None:
    if op.type == "Conv" or op.type.startswith(("Conv2D", "Conv3D", "DepthwiseConv2dNative")):
        return _convolution(op)
    if op.type == "Einsum":
        return _einsum(op)
    if op.type in ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        return _matrix_product(op)
    return None


def _convolution(op: tf.Operation) -> float | None:
    """Forwards or backwards: the kernel, once for each position and channel of what goes out."""
    filters, out = op.inputs[1], op.outputs[0]
    if "Backprop" in op.type:
        out = op.inputs[2]
        if "Filter" in op.type:
            filters = op.outputs[0]
    shape, elements = shape_of(filters), shape_of(out)
    if shape is None or elements is None:
        return None
    # The last two are channels in and out; depthwise, each channel has its own kernels.
    terms = shape[:-2] if op.type.startswith("Depthwise") else shape[:-1]
    return 2.0 * prod(elements) * prod(terms)


def _matrix_product(op: tf.Operation) -> float | None:
    left, out = shape_of(op.inputs[0]), shape_of(op.outputs[0])
    if left is None or out is None:
        return None
    transposed = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
    return 2.0 * prod(out) * left[-2 if transposed else -1]


def _einsum(op: tf.Operation) -> float | None:
    """A term for each element of the output and of all that is summed over."""
    shapes, out = [shape_of(tensor) for tensor in op.inputs], shape_of(op.outputs[0])
    if out is None or any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    if len(known) == 1:  # it adds up, or only moves
        return float(prod(known[0])) if prod(known[0]) != prod(out) else 0.0
    return 2.0 * prod(out) * prod(summed(op.get_attr("equation").decode(), known))


def summed(equation: str, shapes: Sequence[Sequence[int]]) -> list[int]:
    """Sizes of what an einsum sums over; the axes of an ellipsis stay."""
    read, _, kept = equation.replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for labels, shape in zip(read.split(","), shapes, strict=True):
        front, _, back = labels.partition("...")
        sizes |= dict(zip(front, shape, strict=False))
        sizes |= dict(zip(back[::-1], shape[::-1], strict=False))
    if "->" not in equation:  # then what occurs once stays
        kept = "".join(label for label in sizes if read.count(label) == 1)
    return [size for label, size in sizes.items() if label not in kept]
