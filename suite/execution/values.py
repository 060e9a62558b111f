"""Inputs and variables of a step: values that keep it finite, the same wherever they are placed.

A GraphDef says nothing about initial values. Weights are positive and average their inputs (uniform
in 0 .. 2 / fan-in), so that activations stay near 1 through any depth; vectors (biases, scales,
variances) are uniform in 0.5 .. 1; scalars (learning rates, decay rates) are 0.001; integers
(counters) 0. Optimizer state is as positive, so that no square root fails. Booleans are true: a
mask lets everything through, and no mean is over nothing. Complex numbers are real.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from suite.core.errors import InputError

if TYPE_CHECKING:
    import tensorflow as tf

SCALAR = 0.001
_PHILOX = 1
_FORWARDING = frozenset(
    ["Cast", "ExpandDims", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unpack"]
)


def input_value(placeholder: tf.Operation, seed: int) -> NDArray[Any]:
    """Values of a placeholder of known shape: floats in 0 .. 1, valid indices, true.

    InputError where its type or shape allows none.
    """
    tensor = placeholder.outputs[0]
    shape, dtype = tensor.shape, tensor.dtype
    if not shape.is_fully_defined():
        raise InputError(f"input {tensor.name!r} has the open shape {shape}; give it whole")
    rng = np.random.default_rng(_key(placeholder.name, seed))
    if dtype.is_bool:
        return np.ones(shape.as_list(), np.bool_)
    if dtype.is_floating or dtype.is_complex:
        return np.asarray(rng.random(shape.as_list()), dtype.as_numpy_dtype)
    if dtype.is_integer:
        bound = index_bound(tensor)
        return np.asarray(rng.integers(0, bound, shape.as_list()), dtype.as_numpy_dtype)
    raise _unlike_numbers(f"input {tensor.name!r}", dtype)


def index_bound(tensor: tf.Tensor) -> int:
    """How many rows the smallest table has that an integer tensor indexes; 2 where none is seen."""
    bounds, waiting, seen = [], [tensor], {tensor.name}
    while waiting:
        for op in waiting.pop().consumers():
            rows = _rows(op, seen)
            if rows:
                bounds.append(rows)
            if op.type in _FORWARDING:
                waiting += [t for t in op.outputs if t.name not in seen]
                seen |= {t.name for t in op.outputs}
    return min(bounds, default=2)


def _rows(op: tf.Operation, indices: set[str]) -> int | None:
    """Rows of the table that ``op`` looks up with its second input, if that is one of indices.

    None where it looks nothing up, or in a table whose size is not known.
    """
    import tensorflow as tf

    if len(op.inputs) < 2 or op.inputs[1].name not in indices:
        return None
    rows: int | None = None
    if op.type == "ResourceGather" and op.inputs[0].op.type == "VarHandleOp":
        rows = tf.TensorShape(op.inputs[0].op.get_attr("shape"))[0]
    elif op.type == "GatherV2":
        axis = tf.get_static_value(op.inputs[2])
        rows = None if axis is None else op.inputs[0].shape[int(axis)]
    elif op.type == "SparseSoftmaxCrossEntropyWithLogits":
        rows = op.inputs[0].shape[-1]
    return rows


def initial_value(variable: tf.Operation, seed: int) -> tf.Tensor:
    """A tensor with the first value of a VarHandleOp, made on the current device.

    InputError where its type allows none.
    """
    import tensorflow as tf

    dtype = tf.as_dtype(variable.get_attr("dtype"))
    shape = tf.TensorShape(variable.get_attr("shape")).as_list()
    weights = dtype.is_floating or dtype.is_complex
    if not (weights or dtype.is_integer or dtype.is_bool):
        raise _unlike_numbers(f"variable {variable.name!r}", dtype)
    if not weights or not shape:
        value = SCALAR if weights else float(dtype.is_bool)
        return tf.cast(tf.fill(shape, tf.constant(value, tf.float64)), dtype)
    low, high = (0.5, 1.0) if len(shape) == 1 else (0.0, 2.0 / math.prod(shape[:-1]))
    drawn = dtype if dtype in (tf.half, tf.bfloat16, tf.float32, tf.float64) else tf.float32
    uniform = tf.raw_ops.StatelessRandomUniformV2(
        shape=shape,
        key=tf.constant([_key(variable.name, seed)], tf.uint64),
        counter=tf.constant([0, 0], tf.uint64),
        alg=_PHILOX,
        dtype=drawn,
    )
    uniform = uniform * tf.constant(high - low, drawn) + tf.constant(low, drawn)
    return uniform if drawn == dtype else tf.cast(uniform, dtype)


def _unlike_numbers(what: str, dtype: tf.DType) -> InputError:
    return InputError(f"{what} is of type {dtype.name}; only numbers and booleans can be made up")


def _key(name: str, seed: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big")
