"""How fast devices are for groups of classes: where a policy begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Floats
from suite.core.problem import Problem


def seconds_of_groups(problem: Problem, grouping: NDArray[np.int64]) -> Floats:
    """float64[groups, devices]: what the classes of each group take together.

    ``grouping`` is int64[n_classes]. A class that a device cannot run takes what it does on the
    fastest that can, which is where it will go.
    """
    seconds = problem.class_seconds
    seconds = np.where(np.isfinite(seconds), seconds, seconds.min(axis=1, keepdims=True))
    columns = [np.bincount(grouping, column) for column in seconds.T]
    return np.stack(columns, axis=1)


def as_fast(problem: Problem, grouping: NDArray[np.int64], most: float) -> Floats:
    """float64[groups, devices]: logits by which a group's devices are as likely as they are fast.

    ``grouping`` is int64[n_classes]. No logit is further than ``most`` from the mean of its row.
    """
    logits = -np.log(np.maximum(seconds_of_groups(problem, grouping), 1e-9))
    return np.asarray(np.clip(logits - logits.mean(axis=1, keepdims=True), -most, most), np.float64)
