"""What list schedulers schedule, as arrays that compiled functions read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints
from suite.core.compilation import kernel

Rows = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Compressed rows: where each row begins (and the last one ends), and the entries of all rows."""


class Work(NamedTuple):
    """What is to be scheduled."""

    seconds: Floats
    """float64[ops, devices]."""
    allowed: Bools
    """bool[units, devices]: the GPUs a unit may go to."""
    unit: NDArray[np.int64]
    """int64[ops]: what is decided at once."""
    inputs: Rows
    """The tensors that each operation reads."""
    outputs: Rows
    """The tensors that each operation makes."""
    readers: Rows
    """The operations that read each tensor."""
    size: Floats
    """float64[tensors]: bytes."""
    latency: Floats
    """float64[devices, devices]: seconds."""
    per_byte: Floats
    """float64[devices, devices]: seconds per byte."""


def rows(offsets: Ints, values: Ints) -> Rows:
    """Compressed rows of one type, so that kernels are compiled once."""
    return np.array(offsets, np.int64), np.array(values, np.int64)


@kernel
def row(rows: Rows, index: int) -> NDArray[np.int64]:
    """One row of compressed rows."""
    return rows[1][rows[0][index] : rows[0][index + 1]]
