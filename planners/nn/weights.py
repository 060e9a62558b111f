"""How weights start."""

from __future__ import annotations

import numpy as np

from planners.nn.backend import tf
from planners.nn.tensor import Variable


def glorot(name: str, rng: np.random.Generator, rows: int, columns: int) -> Variable:
    """Return float32[rows, columns] of Glorot's uniform distribution (Glorot and Bengio 2010)."""
    bound = np.sqrt(6 / (rows + columns))
    values = rng.uniform(-bound, bound, (rows, columns))
    variable: Variable = tf.Variable(values.astype(np.float32), name=name)
    return variable


def zeros(name: str, *shape: int) -> Variable:
    """Return zeros, float32[shape]."""
    variable: Variable = tf.Variable(np.zeros(shape, np.float32), name=name)
    return variable
