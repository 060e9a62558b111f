"""Latency and bandwidth of a link, from timed transfers of several sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.arrays import Floats
from suite.errors import InputError


@dataclass(frozen=True)
class Fit:
    """seconds = latency + bytes / bandwidth."""

    latency: float
    """Seconds."""
    bandwidth: float
    """Bytes per second."""
    error: float
    """Root mean square of the relative deviations."""


def fit_link(sizes: Floats, seconds: Floats, least_latency: float = 1e-9) -> Fit:
    """Least squares of relative deviations over transfers of ``sizes`` bytes, float64[n] each.

    Relative, since the small transfers decide as much as the large ones. InputError unless larger
    ones take longer.
    """
    weights = 1.0 / seconds
    design = np.stack([weights, sizes * weights], axis=1)
    (latency, per_byte), *_ = np.linalg.lstsq(design, np.ones(len(seconds)), rcond=None)
    if per_byte <= 0:
        raise InputError("larger transfers take no longer than small ones; profile a quieter host")
    latency = max(float(latency), least_latency)
    deviations = (latency + sizes * per_byte) * weights - 1.0
    error = float(np.sqrt(np.mean(deviations**2)))
    return Fit(latency, 1.0 / float(per_byte), error)
