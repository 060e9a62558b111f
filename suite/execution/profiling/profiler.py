"""Measures this host: devices, links and the operations of tasks, into a machine's TOML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine
from suite.execution.measurement import Backend, Measurement, Step, Timing
from suite.execution.profiling.links import Fit, Occupancy, fit_link, fit_occupancy
from suite.execution.profiling.probes import (
    CONVOLUTION_FLOPS,
    Probe,
    beside,
    convolutions,
    hops,
    products,
    small_ops,
    sums,
)

SIZE = 768
"""Rows of the square matrices whose product tells the peak FLOP/s."""
ELEMENTS = 8_000_000
"""Of the vectors whose sum tells the memory bandwidth: far beyond caches."""
CHAINS = (500, 5_000)
"""Lengths of the chains of small operations."""
TRANSFERS = (4, 4_096, 65_536, 1_048_576, 8_388_608)
"""Bytes of the timed transfers."""
HOPS = 20
"""Transfers of one size in a step."""
BESIDE = {4: 10, 4_096: 10, 65_536: 10, 1_048_576: 1, 8_388_608: 1}
"""Transfers of each size (bytes) beside each of 20 matrix products: how long they take is in the
noise of what they are beside, unless there are many of the small ones."""
ROUNDS = 3
"""How often the operations of a task are timed."""
_TIMING = Timing(steps=15, discarded=5, traced=5, timeout=600)


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


@dataclass(frozen=True, eq=False)
class OpTimes:
    """Seconds of a task's operations on one device."""

    seconds: Floats
    """float64[ops]: NaN where it was not seen."""
    step_time: float
    """Seconds of the whole step, untraced."""
    factor: float
    """What every traced time was multiplied with, so that they add up to the step."""


def measure_device(backend: Backend, device: int, folder: Path) -> DeviceFigures:
    """Run the probes of a device; InputError when one fails."""
    product = _median(backend, products(folder, SIZE, 4), device, "product_")
    added = _median(backend, sums(folder, ELEMENTS, 4), device, "sum_")
    convolved = _median(backend, convolutions(folder, 4), device, "convolution_")
    peak = 2.0 * SIZE**3 / product
    return DeviceFigures(
        peak_flops=peak,
        memory_bandwidth=12.0 * ELEMENTS / added,
        launch_overhead=_per_op(backend, device, folder, "launched"),
        host_overhead=_per_op(backend, device, folder, "host"),
        convolution=min(1.0, CONVOLUTION_FLOPS / convolved / peak),
    )


def _run(backend: Backend, probe: Probe, first: int, second: int) -> Measurement:
    result = backend.measure(probe.step, probe.devices(first, second), _TIMING)
    if result.status != "ok":
        raise InputError(f"profiling failed ({result.status}): {result.reason}")
    return result


def _median(backend: Backend, probe: Probe, device: int, prefix: str) -> float:
    """Median seconds of the operations whose names begin with ``prefix``, by step statistics."""
    names = [name for name in probe.step.op_names if name.startswith(prefix)]
    traces = _run(backend, probe, device, device).traces
    return float(np.median([trace.op_seconds(names) for trace in traces]))


def _per_op(backend: Backend, device: int, folder: Path, kind: str) -> float:
    """Seconds that one more small operation adds to a step, dispatch included."""
    short, long = (
        min(_run(backend, small_ops(folder, kind, n), device, device).kept) for n in CHAINS
    )
    return max(1e-9, (long - short) / (CHAINS[1] - CHAINS[0]))


def _added(backend: Backend, probe: Probe, source: int, target: int, alone: int) -> float:
    """Seconds that a step takes longer on two devices than on the one; the least of each."""
    apart = min(_run(backend, probe, source, target).kept)
    return apart - min(_run(backend, probe, alone, alone).kept)


def measure_link(backend: Backend, source: int, target: int, folder: Path) -> Fit:
    """Time transfers of several sizes from one device to another.

    A hop is a transfer and an empty signal back: half of the smallest hop is the latency of each.
    """
    seconds = []
    for size in TRANSFERS:
        probe = hops(folder, size, HOPS)
        seconds.append(max(1e-9, _added(backend, probe, source, target, source) / HOPS))
    there_and_back = np.array(seconds)
    there = there_and_back - there_and_back[0] / 2
    return fit_link(np.array(TRANSFERS, np.float64), there)


def measure_occupancy(backend: Backend, source: int, target: int, folder: Path) -> Occupancy:
    """Time how much longer a device computes when it sends, or is sent, tensors of several sizes.

    The least of several steps, as for all that is measured here.
    """
    found: dict[bool, list[float]] = {False: [], True: []}
    for receiving, results in found.items():
        busy = target if receiving else source
        for size, transfers in BESIDE.items():
            probe = beside(folder, size, HOPS, transfers, receiving)
            added = _added(backend, probe, source, target, busy)
            results.append(added / (HOPS * transfers))
    return fit_occupancy(np.array(list(BESIDE), np.float64), *map(np.array, found.values()))


def measure_ops(backend: Backend, graph: OpGraph, step: Step, device: int, cpu: int) -> OpTimes:
    """Run a whole step on one device (what has no GPU kernel on ``cpu``) and time its operations.

    Tracing slows operations down and leaves out the executor's dispatch, so traced times are scaled
    by one factor: their sum becomes the untraced step time.
    """
    kernels = np.ones(graph.n_classes, np.bool_)
    np.logical_and.at(kernels, graph.colocation, graph.gpu_kernel)
    on_gpu = "GPU:" in backend.device_names[device]
    devices = np.where(kernels[graph.colocation] | (not on_gpu), device, cpu)
    result = backend.measure(step, devices, _TIMING)
    if result.status != "ok" or result.step_time is None:
        raise InputError(f"profiling {graph.name} failed ({result.status}): {result.reason}")
    traced = np.array([trace.op_seconds(graph.op_names) for trace in result.traces])
    seconds = np.maximum(np.median(traced, axis=0), 1e-9)
    seconds[devices != device] = np.nan
    factor = 1.0 if on_gpu else result.step_time / float(np.nansum(seconds))
    return OpTimes(seconds * factor, result.step_time, factor)


def pairs(machine: Machine) -> Iterator[tuple[int, int]]:
    """Ordered pairs of devices."""
    count = machine.n_devices
    return ((s, t) for s in range(count) for t in range(count) if s != t)


def machine_toml(
    name: str,
    machine: Machine,
    figures: Sequence[DeviceFigures],
    fits: Mapping[tuple[int, int], tuple[Fit, Occupancy]],
    source: str,
    dispatch: str,
) -> str:
    """The machine as a TOML file; its ``op_times`` are in a folder of its name."""
    lines = [f"name = {json.dumps(name)}", f"source = {json.dumps(source)}"]
    lines += [f"op_times = {json.dumps(f'{name}-ops')}", f"dispatch = {json.dumps(dispatch)}"]
    for device, found in zip(machine.devices, figures, strict=True):
        lines += ["", "[[device]]", *_entries(_device_entries(device, found))]
    for kind in dict.fromkeys(device.kind for device in machine.devices):
        first = next(f for d, f in zip(machine.devices, figures, strict=True) if d.kind == kind)
        lines += ["", f"[efficiency.{kind}]", f"convolution = {first.convolution:.4g}"]
    for (s, t), (fit, ends) in fits.items():
        entries: dict[str, Any] = {"from": machine.devices[s].name, "to": machine.devices[t].name}
        entries |= {"bandwidth": fit.bandwidth, "latency": fit.latency, "channel": "pair"}
        occupied = {k: v for k, v in asdict(ends).items() if k != "error" and 0 < v < np.inf}
        lines += ["", "[[link]]"]
        lines += [f"# fitted within {fit.error:.1%}, occupancy {ends.error:.1%} (root mean square)"]
        lines += _entries(entries | occupied)
    return "\n".join(lines) + "\n"


def _device_entries(device: Any, figures: DeviceFigures) -> dict[str, Any]:
    return {
        "name": device.name,
        "kind": device.kind,
        "memory": device.memory,
        "peak_flops": figures.peak_flops,
        "memory_bandwidth": figures.memory_bandwidth,
        "launch_overhead": figures.launch_overhead,
        "host_overhead": figures.host_overhead,
    }


def _entries(values: Mapping[str, Any]) -> list[str]:
    return [
        f"{key} = {value:.4g}" if isinstance(value, float) else f"{key} = {json.dumps(value)}"
        for key, value in values.items()
    ]
