"""How far off the figures of a profile may be, from what its rounds and its fits leave over.

The figures are the medians of the :data:`ROUNDS` fastest rounds. A spread is the root mean square
of what the fastest and the slowest of these deviate from them, as a share; of a link's figures,
together with what its fit leaves unexplained.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot

import numpy as np

from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.uncertainty import LinkSpread
from suite.execution.profiling.devices import device_keys
from suite.execution.profiling.links import Fit, Occupancy
from suite.execution.profiling.op_times import OpTimes, typical
from suite.execution.profiling.samples import EXTREMES, Samples
from suite.execution.profiling.transfers import link_fit, occupancy_fit

MOST = 1.0
"""The most that a spread may be: what is beyond is known to no order of magnitude, and a machine
drawn from it would be no machine."""


def relative_spread(figure: float, others: Sequence[float]) -> float:
    """Root mean square of ``others / figure - 1``, at most :data:`MOST`; 0 of a figure that is 0.

    A figure that is 0 or infinite costs nothing, and no factor changes that.
    """
    if figure in (0.0, np.inf):
        return 0.0
    if not others:
        return MOST
    deviations = np.minimum(np.array(others) / figure - 1, MOST)
    return min(MOST, float(np.sqrt(np.mean(deviations**2))))


def device_spread(device: int, samples: Samples) -> float:
    """Of a device's speed: the median of all that was measured on it alone."""
    mine = device_keys(device)
    others = [samples.ranked(rank) for rank in EXTREMES]
    spreads = [relative_spread(samples.typical(*k), [o.typical(*k) for o in others]) for k in mine]
    return float(np.median(spreads))


def link_spread(source: int, target: int, samples: Samples) -> LinkSpread:
    """Of a link's figures. Rounds of which no link can be made are left out."""
    fit, ends = link_fit(source, target, samples), occupancy_fit(source, target, samples)
    found = [_fits(source, target, samples.ranked(rank)) for rank in EXTREMES]
    others = [fits for fits in found if fits is not None]
    latency = relative_spread(fit.latency, [one.latency for one, _ in others])
    bandwidth = relative_spread(fit.bandwidth, [one.bandwidth for one, _ in others])
    sends = relative_spread(ends.send_overhead, [one.send_overhead for _, one in others])
    receives = relative_spread(ends.receive_overhead, [one.receive_overhead for _, one in others])
    copy = relative_spread(ends.copy_bandwidth, [one.copy_bandwidth for _, one in others])
    return LinkSpread(
        latency=min(MOST, hypot(latency, fit.error)),
        bandwidth=min(MOST, hypot(bandwidth, fit.error)),
        overhead=min(MOST, hypot(max(sends, receives), ends.error)),
        copy_bandwidth=min(MOST, hypot(copy, ends.error)),
    )


def op_spread(times: Sequence[OpTimes]) -> Floats:
    """float64[ops]: of every operation's own time, NaN where it was not seen; at most MOST.

    What it scatters from one traced step to the next, together with what its share of the step is
    in the other rounds. That a whole step takes longer is the device's spread, not its operations'.
    """
    usual = typical(times)
    shares = np.array([one.seconds / one.step_time for one in times if one is not usual])
    between = np.zeros(len(usual.seconds))
    if len(shares):
        with np.errstate(invalid="ignore", divide="ignore"):  # where an operation takes no time
            deviations = shares / (usual.seconds / usual.step_time) - 1
        between = np.sqrt(np.mean(deviations**2, axis=0))
    return np.minimum(MOST, np.hypot(usual.scatter, between))


def _fits(source: int, target: int, samples: Samples) -> tuple[Fit, Occupancy] | None:
    try:
        return link_fit(source, target, samples), occupancy_fit(source, target, samples)
    except InputError:
        return None
