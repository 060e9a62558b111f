"""What one walk takes over from another: placements, their devices renamed to match its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from suite.core.arrays import Floats
from suite.core.problem import Problem

Devices = NDArray[np.int64]


class Crossover:
    """Renames the devices of one problem's placements."""

    def __init__(self, problem: Problem) -> None:
        """Weigh the classes by the time their operations take where they are fastest."""
        seconds = problem.class_seconds.min(axis=1)
        self._seconds: Floats = np.where(np.isfinite(seconds), seconds, 0.0)
        kinds = np.array([device.kind for device in problem.machine.devices])
        self._alike = kinds[:, None] == kinds[None, :]

    def renamed(self, row: Devices, like: Devices) -> Devices:
        """Return ``row``, int64[n_classes], with devices of one kind renamed as suits ``like``.

        Of all ways that is one in which the most work is where ``like`` has it: without that, the
        layers of two walks would be on GPUs of other numbers, and parts of both would not match.
        """
        count = len(self._alike)
        both = np.bincount(row * count + like, self._seconds, count * count)
        both = both.reshape(count, count)
        # No renaming to another kind, whatever it would bring.
        never = -(float(both.sum()) + 1.0)
        old, new = linear_sum_assignment(np.where(self._alike, both, never), maximize=True)
        name = np.zeros(count, np.int64)
        name[old] = new
        return np.asarray(name[row], np.int64)
