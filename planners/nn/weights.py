"""How weights start."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

Tensor = Any
"""A tf.Tensor: TensorFlow comes without types."""


def glorot(name: str, rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Return a matrix of Glorot's uniform distribution (Glorot and Bengio 2010; released code)."""
    bound = np.sqrt(6 / (rows + columns))
    values = rng.uniform(-bound, bound, (rows, columns))
    return tf.Variable(values.astype(np.float32), name=name)


def zeros(name: str, *shape: int) -> Any:
    """Return zeros, float32[shape]."""
    return tf.Variable(np.zeros(shape, np.float32), name=name)
