"""A window: the operations of a step that start between two times, and what may change of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools


class Window(NamedTuple):
    """What is to be known of one. Its *parts* are the colocation classes that may move: those of
    which all operations start in the window, and wait for something that happens in it."""

    begins: int
    """Nanoseconds since the step began."""
    devices: NDArray[np.int64]
    """int64[ops]: where operations are in the step that was traced."""
    members: NDArray[np.int64]
    """int64[members]: its operations."""
    number: NDArray[np.int64]
    """int64[ops]: which member an operation is, or -1."""
    tail: NDArray[np.int64]
    """int64[members, devices]: nanoseconds of the step that follow each one's end, if it is there
    and all that comes after the window is as late as it was."""
    part_ops: NDArray[np.int64]
    part_begin: NDArray[np.int64]
    """Compressed rows: the operations of each part."""
    part_of: NDArray[np.int64]
    """int64[ops]: the part of an operation, or -1."""
    may: Bools
    """bool[parts, devices]: where each can run."""
    near: NDArray[np.int64]
    near_begin: NDArray[np.int64]
    """Compressed rows: operations that each part reads from, or that read from it; some of them are
    in no part."""
    early: Bools
    """bool[edges]: read by a part, and there when the window begins."""
    tensor: NDArray[np.int64]
    """int64[edges]: what each carries."""
    prices: NDArray[np.int64]
    """int64[tensors, devices]: nanoseconds that the step takes longer if an early tensor is to be
    on a device; SEND where it can only be sent when the window begins."""
    room: int
    """How many can be: each needs a place among the step's requests."""
