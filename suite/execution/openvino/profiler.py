"""Measures this host with OpenVINO in rounds: its devices, and what a cut between them costs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.core.uncertainty import LinkSpread
from suite.execution.measurement import Backend, Measurement, Timing
from suite.execution.openvino import probes
from suite.execution.profiling.devices import DeviceFigures
from suite.execution.profiling.links import Fit, Occupancy
from suite.execution.profiling.profiler import HostProfile, pairs
from suite.execution.profiling.run_step import run_step
from suite.execution.profiling.samples import EXTREMES, Samples
from suite.execution.profiling.spreads import relative_spread

SIZES = (4, 262_144, 4_194_304)
"""Bytes of the tensors that are cut: the first tells the latency, the last the bandwidth."""
KERNELS = ("product", "total", "convolution")
_KERNEL = Timing(steps=3, discarded=1, traced=5, timeout=300)
_SMALL = Timing(steps=60, discarded=10, traced=0, timeout=300)
_LARGE = Timing(steps=12, discarded=2, traced=0, timeout=300)
_NOTHING_ELSE = Occupancy(0.0, 0.0, np.inf, 0.0)
"""No device computes while tensors move."""


class InferenceProfiler:
    """Measures all devices and cuts once a round, as often as it is asked to."""

    def __init__(self, backend: Backend, machine: Machine, folder: Path) -> None:
        """Write the networks into ``folder``, which must last as long as this; measure nothing."""
        self._backend, self._machine, self._samples = backend, machine, Samples()
        self._kernels = {name: getattr(probes, name)(folder) for name in KERNELS}
        self._chains = {length: probes.chain(folder, length, 1) for length in probes.CHAINS}
        links = probes.HOPS + 1
        self._cuts = {size: probes.chain(folder, links, size // 4) for size in SIZES}

    def measure_round(self) -> float:
        """Measure everything once more; return by how much the rounds so far differ."""
        for device in range(self._machine.n_devices):
            for name, probe in self._kernels.items():
                traces = self._run(probe, probe.on(device), _KERNEL).traces
                seconds = np.median([trace.op_seconds(["timed"]) for trace in traces])
                self._samples.add((name, device), float(seconds))
            for length, probe in self._chains.items():
                kept = self._run(probe, probe.on(device), _SMALL).kept
                self._samples.add(("chain", length, device), min(kept))
            self._time_cuts(device, device)
        for s, t in pairs(self._machine):
            self._time_cuts(s, t)
        return self._samples.disagreement

    def _time_cuts(self, source: int, target: int) -> None:
        for size, probe in self._cuts.items():
            timing = _LARGE if size == SIZES[-1] else _SMALL
            kept = self._run(probe, probe.by_turns(source, target), timing).kept
            self._samples.add(("cut", size, source, target), min(kept))

    def _run(self, probe: probes.Probe, devices: Ints, timing: Timing) -> Measurement:
        return run_step(self._backend, probe.step, devices, timing)

    def profile(self) -> HostProfile:
        """The figures that all rounds together tell."""
        machine, samples = self._machine, self._samples
        ranked = [samples.ranked(rank) for rank in EXTREMES]
        links = {(s, t): (cut_fit(s, t, samples), _NOTHING_ELSE) for s, t in pairs(machine)}
        spreads = {(s, t): _link_spread(s, t, fit, ranked) for (s, t), (fit, _) in links.items()}
        return HostProfile(
            machine,
            tuple(figures(i, samples) for i in range(machine.n_devices)),
            links,
            samples.disagreement,
            tuple(_spread(i, samples, ranked) for i in range(machine.n_devices)),
            spreads,
        )


def figures(device: int, samples: Samples) -> DeviceFigures:
    """The figures of a device; what launches nothing takes no time."""
    peak = 2.0 * probes.SIZE**3 / samples.typical("product", device)
    convolved = probes.CONVOLUTION_FLOPS / samples.typical("convolution", device)
    short, long = (samples.typical("chain", length, device) for length in probes.CHAINS)
    return DeviceFigures(
        peak_flops=peak,
        memory_bandwidth=12.0 * probes.ELEMENTS / samples.typical("total", device),
        launch_overhead=max(1e-9, (long - short) / (probes.CHAINS[1] - probes.CHAINS[0])),
        host_overhead=0.0,
        convolution=min(1.0, convolved / peak),
    )


def cut_fit(source: int, target: int, samples: Samples) -> Fit:
    """What a cut adds to a model: the next part's start, and the tensor's way there.

    A chain whose links take turns is longer by its cuts than the mean of both devices alone. Cuts
    in both directions are in it, so both have the same figures, but for noise. InputError unless
    larger tensors take longer.
    """
    added = []
    for size in SIZES:
        alone = [samples.typical("cut", size, device, device) for device in (source, target)]
        both = samples.typical("cut", size, source, target)
        added.append((both - float(np.mean(alone))) / probes.HOPS)
    latency, middle, largest = added
    if not 0 < latency < largest:
        raise InputError("cuts in a model take no time that can be told; profile a quieter host")
    bandwidth = (SIZES[-1] - SIZES[0]) / (largest - latency)
    return Fit(latency, bandwidth, abs((latency + SIZES[1] / bandwidth) / middle - 1))


def _link_spread(source: int, target: int, fit: Fit, ranked: Sequence[Samples]) -> LinkSpread:
    """Of a link's figures. A slower round of which no link can be made is left out."""
    others = []
    for one in ranked:
        with suppress(InputError):
            others.append(cut_fit(source, target, one))
    latency = relative_spread(fit.latency, [one.latency for one in others])
    return LinkSpread(
        latency, relative_spread(fit.bandwidth, [one.bandwidth for one in others]), 0.0, 0.0
    )


def _spread(device: int, samples: Samples, ranked: Sequence[Samples]) -> float:
    keys = [*((name, device) for name in KERNELS), *(("chain", n, device) for n in probes.CHAINS)]
    spreads = [relative_spread(samples.typical(*k), [r.typical(*k) for r in ranked]) for k in keys]
    return float(np.median(spreads))
