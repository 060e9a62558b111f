"""What one device can do: matrix products, sums of vectors, convolutions, small operations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from suite.execution.measurement import Backend, Measurement, Timing
from suite.execution.profiling.probes import (
    CONVOLUTION_FLOPS,
    Probe,
    convolutions,
    products,
    small_ops,
    sums,
)
from suite.execution.profiling.run_step import run_step
from suite.execution.profiling.samples import Key, Samples

SIZE = 768
"""Rows of the square matrices whose product tells the peak FLOP/s."""
ELEMENTS = 8_000_000
"""Of the vectors whose sum tells the memory bandwidth: far beyond caches."""
CHAINS = (500, 5_000)
"""Lengths of the chains of small operations."""
KINDS = ("launched", "host")
_TRACED = Timing(steps=3, discarded=1, traced=3, timeout=600)
_TIMED = Timing(steps=5, discarded=2, traced=0, timeout=600)


@dataclass(frozen=True)
class DeviceFigures:
    """What was measured of one device."""

    peak_flops: float
    """FLOP per second of a matrix product."""
    memory_bandwidth: float
    """Bytes per second of a sum of vectors, three moved per element."""
    launch_overhead: float
    """Seconds of an operation on one number."""
    host_overhead: float
    """Seconds of an Identity."""
    convolution: float
    """Share of ``peak_flops`` that a convolution reaches, at most 1."""


class DeviceProbes:
    """The steps that tell a device's figures, written once and run on each device."""

    def __init__(self, folder: Path) -> None:
        self._traced = {
            "product": products(folder, SIZE, 4),
            "sum": sums(folder, ELEMENTS, 4),
            "convolution": convolutions(folder, 4),
        }
        self._chains = {(k, n): small_ops(folder, k, n) for k in KINDS for n in CHAINS}

    def measure(self, backend: Backend, device: int, samples: Samples) -> None:
        """Add one round of a device; InputError when a probe fails."""
        for name, probe in self._traced.items():
            names = [op for op in probe.step.op_names if op.startswith(f"{name}_")]
            traces = run_probe(backend, probe, device, device, _TRACED).traces
            seconds = np.median([trace.op_seconds(names) for trace in traces])
            samples.add((name, device), float(seconds))
        for (kind, length), probe in self._chains.items():
            kept = run_probe(backend, probe, device, device, _TIMED).kept
            samples.add((kind, length, device), min(kept))


def device_keys(device: int) -> list[Key]:
    """What :class:`DeviceProbes` measures of a device."""
    chains = [(kind, length, device) for kind in KINDS for length in CHAINS]
    return [*((name, device) for name in ("product", "sum", "convolution")), *chains]


def device_figures(device: int, samples: Samples) -> DeviceFigures:
    """The figures of a device that all rounds together tell."""
    peak = 2.0 * SIZE**3 / samples.typical("product", device)
    convolved = CONVOLUTION_FLOPS / samples.typical("convolution", device)
    launched, host = (_per_op(kind, device, samples) for kind in KINDS)
    return DeviceFigures(
        peak_flops=peak,
        memory_bandwidth=12.0 * ELEMENTS / samples.typical("sum", device),
        launch_overhead=launched,
        host_overhead=host,
        convolution=min(1.0, convolved / peak),
    )


def _per_op(kind: str, device: int, samples: Samples) -> float:
    """Seconds that one more small operation adds to a step, dispatch included."""
    short, long = (samples.typical(kind, length, device) for length in CHAINS)
    return max(1e-9, (long - short) / (CHAINS[1] - CHAINS[0]))


def run_probe(
    backend: Backend, probe: Probe, first: int, second: int, timing: Timing
) -> Measurement:
    """Run a probe on one or two devices; InputError when it fails."""
    return run_step(backend, probe.step, probe.devices(first, second), timing)
