"""Devices as kernels take them: they look at nothing, and write where a wrong number points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.problem import Problem


def device_rows(problem: Problem, devices: Ints) -> NDArray[np.int32]:
    """A copy of int[..., ops], int32, row by row: kernels would be compiled anew for other kinds.

    Raises InputError for numbers that are no devices of the problem's machine, and for too few or
    too many of them.
    """
    given = np.asarray(devices)
    n, ops = problem.machine.n_devices, problem.graph.n_ops
    if given.size and given.shape[-1] != ops:
        raise InputError(f"{given.shape[-1]} devices for {ops} operations; give one for each")
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"devices are of type {given.dtype}; give whole numbers")
    if given.size and (given.min() < 0 or given.max() >= n):
        bad = given.min() if given.min() < 0 else given.max()
        raise InputError(f"an operation is on device {bad}; {problem.machine.name} has 0..{n - 1}")
    return np.array(given, np.int32, order="C")
