"""Figures of a link, from timed transfers of several sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from suite.core.arrays import Floats
from suite.core.errors import InputError


@dataclass(frozen=True)
class Fit:
    """seconds = latency + bytes / bandwidth."""

    latency: float
    """Seconds."""
    bandwidth: float
    """Bytes per second."""
    error: float
    """Root mean square of the relative deviations."""
    gap: float | None = None
    """Seconds after which the next transfer may follow, bytes apart; None: once this is there."""
    scheduling_latency: float = 0.0
    """Seconds that it takes longer where its sender computes on."""

    def __str__(self) -> str:
        """For a line on a screen."""
        rate = f"{self.latency * 1e6:.0f} us + {self.bandwidth / 1e9:.2f} GB/s"
        next_one = "" if self.gap is None else f", the next after {self.gap * 1e6:.1f} us"
        return f"{rate}, fitted within {self.error:.0%}{next_one}"


def fit_link(
    sizes: Floats, seconds: Floats, least_latency: float = 1e-9, forced: bool = False
) -> Fit:
    """Least squares of relative deviations over transfers of ``sizes`` bytes, float64[n] each.

    Relative, since the small transfers decide as much as the large ones. InputError unless larger
    ones take longer; ``forced``, the fastest is the latency then and the largest the bandwidth.
    """
    weights = 1.0 / seconds
    design = np.stack([weights, sizes * weights], axis=1)
    (latency, per_byte), *_ = np.linalg.lstsq(design, np.ones(len(seconds)), rcond=None)
    if per_byte <= 0:
        if not forced:
            raise InputError(
                "larger transfers take no longer than small ones; profile a quieter host"
            )
        largest = np.argmax(sizes)
        latency, per_byte = seconds.min(), max(seconds[largest], least_latency) / sizes[largest]
    latency = max(float(latency), least_latency)
    deviations = (latency + sizes * per_byte) * weights - 1.0
    error = float(np.sqrt(np.mean(deviations**2)))
    return Fit(latency, 1.0 / float(per_byte), error)


LEAST = 5e-6
"""Seconds below which a measured occupancy is noise: smaller ones weigh no more than this."""


@dataclass(frozen=True)
class Occupancy:
    """Seconds that a transfer keeps an end from computing: overhead + bytes / copy_bandwidth."""

    send_overhead: float
    """Seconds, of the sender."""
    receive_overhead: float
    """Seconds, of the receiver."""
    copy_bandwidth: float
    """Bytes per second of either; infinite where size costs nothing."""
    error: float
    """Root mean square of the relative deviations."""

    def __str__(self) -> str:
        """For a line on a screen."""
        ends = f"{self.send_overhead * 1e6:.0f} us, {self.receive_overhead * 1e6:.0f} us"
        rate = f"{self.copy_bandwidth / 1e9:.2f} GB/s"
        return f"occupies its ends for {ends} + {rate}, within {self.error:.0%}"


def fit_occupancy(sizes: Floats, sent: Floats, received: Floats) -> Occupancy:
    """Least squares of relative deviations, none of the figures negative.

    ``sent`` and ``received`` are what a transfer of ``sizes`` bytes adds to the work of its sender
    and of its receiver: float64[n] seconds each.
    """
    seconds = np.concatenate([sent, received])
    weights = 1.0 / np.maximum(seconds, LEAST)
    sends = np.repeat([1.0, 0.0], len(sizes))
    design = np.stack([sends, 1.0 - sends, np.tile(sizes, 2)], axis=1) * weights[:, None]
    (send, receive, per_byte), _ = nnls(design, seconds * weights)
    deviations = design @ [send, receive, per_byte] - seconds * weights
    bandwidth = 1.0 / per_byte if per_byte > 0 else np.inf
    error = float(np.sqrt(np.mean(deviations**2)))
    return Occupancy(float(send), float(receive), float(bandwidth), error)
