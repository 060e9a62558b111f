"""What transfers between two devices take, and what they keep the devices from doing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from suite.execution.measurement import Backend, Timing
from suite.execution.profiling.devices import run_probe
from suite.execution.profiling.links import Fit, Occupancy, fit_link, fit_occupancy
from suite.execution.profiling.probes import beside, burst, hops
from suite.execution.profiling.samples import Samples

TRANSFERS = (4, 4_096, 65_536, 1_048_576, 8_388_608)
"""Bytes of the timed transfers."""
HOPS = 20
"""Transfers of one size in a step."""
BURST = 200
"""Transfers that wait for nothing, of one number each."""
BESIDE = {4: 10, 4_096: 10, 65_536: 10, 1_048_576: 1, 8_388_608: 1}
"""Transfers of each size (bytes) beside each of 20 matrix products: how long they take is in the
noise of what they are beside, unless there are many of the small ones."""
_TIMING = Timing(steps=5, discarded=2, traced=0, timeout=600)


class TransferProbes:
    """The steps that tell a link's figures, written once and run on each pair of devices.

    Each is run on two devices, and on one device alone, whose work the transfers lengthen.
    """

    def __init__(self, folder: Path) -> None:
        self._probes = {f"hops {size}": hops(folder, size, HOPS) for size in TRANSFERS}
        self._probes["burst"] = burst(folder, BURST)
        for size, count in BESIDE.items():
            for receiving, word in ((False, "sending"), (True, "receiving")):
                probe = beside(folder, size, HOPS, count, receiving)
                self._probes[f"{word} {size}"] = probe

    def measure(self, backend: Backend, source: int, target: int, samples: Samples) -> None:
        """Add one round of a pair of devices, or of one device alone; InputError on failure."""
        for key, probe in self._probes.items():
            kept = run_probe(backend, probe, source, target, _TIMING).kept
            samples.add((key, source, target), min(kept))


def link_fit(source: int, target: int, samples: Samples) -> Fit:
    """Latency, bandwidth and gap of a link.

    A hop is a transfer and an empty signal back: half of the smallest hop is the latency of each.
    Of a burst, the first transfer takes the latency, each other one the gap more.
    """
    added = [_added(f"hops {size}", source, target, source, samples) for size in TRANSFERS]
    there_and_back = np.maximum(1e-9, np.array(added) / HOPS)
    there = there_and_back - there_and_back[0] / 2
    fit = fit_link(np.array(TRANSFERS, np.float64), there, forced=samples.forced)
    waited = _added("burst", source, target, source, samples) - fit.latency
    gap = max(0.0, waited / (BURST - 1))
    return replace(fit, gap=gap if gap < fit.latency else None)


def occupancy_fit(source: int, target: int, samples: Samples) -> Occupancy:
    """How much longer a device computes when it sends, or is sent, tensors of several sizes."""
    counts = HOPS * np.array(list(BESIDE.values()), np.float64)
    sent = [_added(f"sending {size}", source, target, source, samples) for size in BESIDE]
    received = [_added(f"receiving {size}", source, target, target, samples) for size in BESIDE]
    sizes = np.array(list(BESIDE), np.float64)
    return fit_occupancy(sizes, np.array(sent) / counts, np.array(received) / counts)


def _added(key: str, source: int, target: int, alone: int, samples: Samples) -> float:
    """Seconds that a step takes longer on two devices than on the one."""
    return samples.typical(key, source, target) - samples.typical(key, alone, alone)
