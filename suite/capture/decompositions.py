"""FLOP of matrix decompositions, solves and Fourier transforms, to the leading term.

Decompositions of a matrix of m rows and n columns as Golub and Van Loan count them (Matrix
Computations, 4th edition, 3.2, 4.2, 5.2, 7.5, 8.3 and 8.6); a transform of n values takes
5 n log2 n (Cooley and Tukey, radix 2), half of that where they are real. Of a batch, all its
members.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import TYPE_CHECKING

from suite.capture.upper_bounds import shape_of

if TYPE_CHECKING:
    import tensorflow as tf

Count = Callable[["tf.Operation", int, int], float]
"""FLOP for one matrix of so many rows and columns."""


def decomposition_flops(op: tf.Operation) -> float | None:
    """FLOP of a ``tf.Operation``; None where it is none of these, or a shape is not known."""
    transform = _TRANSFORMS.get(op.type)
    if transform is not None:
        return _transform(op, *transform)
    one, shape = _MATRICES.get(op.type), shape_of(op.inputs[0]) if op.inputs else None
    if one is None or shape is None or len(shape) < 2:
        return None
    flops = prod(shape[:-2]) * one(op, shape[-2], shape[-1])
    # Four real products, and as many sums, for each complex one.
    return 4 * flops if op.inputs[0].dtype.is_complex else flops


def _transform(op: tf.Operation, axes: int, per_value: float) -> float | None:
    """Of the last so many axes; a real transform's longer side is real."""
    shapes = [shape_of(op.inputs[0]), shape_of(op.outputs[0])]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    shape = max(known, key=prod)
    return per_value * prod(shape) * log2(max(1, prod(shape[-axes:])))


def _columns(op: tf.Operation) -> int:
    """Of the right-hand side of a solve."""
    shape = shape_of(op.inputs[1])
    return shape[-1] if shape else 1


def _qr(op: tf.Operation, m: int, n: int) -> float:
    """By Householder's reflections, Q written out: as wide as it is long where all is asked."""
    k = min(m, n)
    reduced = 2.0 * k * k * (max(m, n) - k / 3)
    if op.get_attr("full_matrices"):
        return reduced + 4.0 * (m * m * k - m * k * k + k**3 / 3)
    return reduced + 2.0 * k * k * (m - k / 3)


def _svd(op: tf.Operation, m: int, n: int) -> float:
    """By bidiagonalisation; singular values alone take less."""
    m, n = max(m, n), min(m, n)
    if not op.get_attr("compute_uv"):
        return 4.0 * n * n * (m - n / 3)
    if op.get_attr("full_matrices"):
        return 4.0 * m * m * n + 8.0 * m * n * n + 9.0 * n**3
    return 14.0 * m * n * n + 8.0 * n**3


_MATRICES: dict[str, Count] = {
    "Cholesky": lambda op, m, n: n**3 / 3,
    "Eig": lambda op, m, n: (25.0 if op.get_attr("compute_v") else 10.0) * n**3,
    "Lu": lambda op, m, n: 2 * n**3 / 3,
    "MatrixDeterminant": lambda op, m, n: 2 * n**3 / 3,
    "LogMatrixDeterminant": lambda op, m, n: 2 * n**3 / 3,
    "MatrixInverse": lambda op, m, n: 2.0 * n**3,
    "MatrixSolve": lambda op, m, n: 2 * n**3 / 3 + 2.0 * n * n * _columns(op),
    "MatrixTriangularSolve": lambda op, m, n: 1.0 * n * n * _columns(op),
    "Qr": _qr,
    "SelfAdjointEigV2": lambda op, m, n: 9.0 * n**3 if op.get_attr("compute_v") else 4 * n**3 / 3,
    "Svd": _svd,
}
_TRANSFORMS = {
    f"{kind}FFT{'' if axes == 1 else f'{axes}D'}": (axes, 5.0 if kind in ("", "I") else 2.5)
    for kind in ("", "I", "R", "IR")
    for axes in (1, 2, 3)
}
"""Axes that are transformed, and FLOP per value and doubling of their size."""
