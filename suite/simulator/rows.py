"""Devices as kernels take them: they look at nothing, and write where a wrong number points."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.core.problem import Problem


def device_row(problem: Problem, devices: Placement | Ints) -> NDArray[np.int32]:
    """A copy of one placement's devices, int[ops], as :func:`device_rows` makes it of several."""
    given = np.asarray(devices.devices if isinstance(devices, Placement) else devices)
    if given.ndim != 1:
        raise InputError(f"devices have the shape {given.shape}; give one for each operation")
    return _checked(problem, given)


def device_rows(problem: Problem, devices: Sequence[Placement] | Ints) -> NDArray[np.int32]:
    """A copy of int[batch, ops], int32, row by row: kernels would be compiled anew for other kinds.

    Raises InputError for numbers that are no devices of the problem's machine, and for too few or
    too many of them.
    """
    if isinstance(devices, Placement):
        raise InputError("a batch is a sequence of placements; give [placement]")
    if not isinstance(devices, np.ndarray):
        devices = np.asarray([d.devices if isinstance(d, Placement) else d for d in devices])
    given = devices
    if given.size and given.ndim != 2:
        raise InputError(f"a batch has the shape {given.shape}; give a row for each placement")
    return _checked(problem, given)


def _checked(problem: Problem, given: Ints) -> NDArray[np.int32]:
    n, ops = problem.machine.n_devices, problem.graph.n_ops
    if given.size and given.shape[-1] != ops:
        raise InputError(f"{given.shape[-1]} devices for {ops} operations; give one for each")
    if given.size and given.dtype.kind not in "iu":
        raise InputError(f"devices are of type {given.dtype}; give whole numbers")
    if given.size and (given.min() < 0 or given.max() >= n):
        bad = given.min() if given.min() < 0 else given.max()
        raise InputError(f"an operation is on device {bad}; {problem.machine.name} has 0..{n - 1}")
    return np.array(given, np.int32, order="C")
