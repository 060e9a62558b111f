"""Measures this host in rounds: its devices, and the links between them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Protocol

from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.core.uncertainty import LinkSpread
from suite.execution.measurement import Backend
from suite.execution.profiling.devices import DeviceFigures, DeviceProbes, device_figures
from suite.execution.profiling.links import Fit, Occupancy
from suite.execution.profiling.samples import ALLOWED, ROUNDS, Samples
from suite.execution.profiling.spreads import device_spread, link_spread
from suite.execution.profiling.transfers import TransferProbes, link_fit, occupancy_fit


@dataclass(frozen=True, eq=False)
class HostProfile:
    """What all rounds together tell of a host."""

    machine: Machine
    """Its devices; their figures are not these."""
    devices: tuple[DeviceFigures, ...]
    links: dict[tuple[int, int], tuple[Fit, Occupancy]]
    """By ordered pair of devices."""
    disagreement: float
    """By how much rounds differ (:attr:`Samples.disagreement`); NaN: there was one."""
    device_spreads: tuple[float, ...] = ()
    """How far off each device's speed may be (:mod:`suite.execution.profiling.spreads`)."""
    link_spreads: Mapping[tuple[int, int], LinkSpread] = field(default_factory=dict)
    """How far off each link's figures may be."""
    in_steps: float = 0.0
    """Seconds of the latencies, of steps in pieces (:mod:`suite.execution.profiling.pieces`)."""


class HostProbes:
    """The steps that are measured, written into a folder that must last as long as they do."""

    def __init__(self, folder: Path) -> None:
        self.devices, self.transfers = DeviceProbes(folder), TransferProbes(folder)


class Profiler:
    """Measures all devices and links once a round, as often as it is asked to."""

    def __init__(
        self, backend: Backend, machine: Machine, probes: HostProbes, forced: bool = False
    ) -> None:
        """Measure nothing yet. ``forced``: as of :class:`Samples`."""
        self._backend, self._machine, self._probes = backend, machine, probes
        self._samples = Samples(forced)

    def measure_round(self) -> float:
        """Measure everything once more; return by how much the rounds so far differ."""
        several = self._machine.n_devices > 1
        for device in range(self._machine.n_devices):
            self._probes.devices.measure(self._backend, device, self._samples)
            if several:
                self._probes.transfers.measure(self._backend, device, device, self._samples)
        for source, target in pairs(self._machine):
            self._probes.transfers.measure(self._backend, source, target, self._samples)
        return self._samples.disagreement

    def profile(self) -> HostProfile:
        """The figures; InputError where they make no sense, as on a host that is far too busy."""
        samples, machine = self._samples, self._machine
        devices = tuple(device_figures(i, samples) for i in range(machine.n_devices))
        links = {
            (s, t): (link_fit(s, t, samples), occupancy_fit(s, t, samples))
            for s, t in pairs(machine)
        }
        return HostProfile(
            machine,
            devices,
            links,
            samples.disagreement,
            tuple(device_spread(i, samples) for i in range(machine.n_devices)),
            {(s, t): link_spread(s, t, samples) for s, t in links},
        )


class Rounds(Protocol):
    """Measures this host in rounds."""

    def measure_round(self) -> float:
        """Measure everything once more; return by how much the rounds so far differ."""
        ...

    def profile(self) -> HostProfile:
        """The figures that all rounds together tell."""
        ...


def profile_host(
    profiler: Rounds,
    patience: float,
    force: bool,
    tell: Callable[[str], None],
    rounds: int = ROUNDS,
    allowed: float = ALLOWED,
) -> HostProfile:
    """Measure rounds until the fastest ones agree, for ``patience`` seconds after ``rounds``.

    ``tell`` hears how it goes. InputError when they do not agree by then, within ``allowed`` as a
    share, except with ``force``.
    """
    for number in range(1, rounds + 1):
        differ = profiler.measure_round()
        tell(f"round {number} of {rounds}")
    trouble, end = too_busy(differ, allowed), time.monotonic() + patience
    while trouble and time.monotonic() < end:
        tell(f"the fastest {ROUNDS} rounds differ by {differ:.0%}; one more")
        differ = profiler.measure_round()
        trouble = too_busy(differ, allowed)
    if trouble and not force:
        raise InputError(
            f"{trouble}; leave it alone, or add --wait MINUTES to measure on until the fastest"
            f" {ROUNDS} rounds agree, or --force to take the figures as they are"
        )
    tell(trouble or agreement(differ))
    return profiler.profile()


def agreement(disagreement: float) -> str:
    """How well repeated measurements agree, in words."""
    if isnan(disagreement):
        return "measured once: nothing tells how far off the figures are"
    return f"repeated measurements differ by {disagreement:.1%} in the median"


def too_busy(disagreement: float, allowed: float = ALLOWED) -> str:
    """Why a host cannot be profiled now, in words; empty where it can."""
    if not disagreement > allowed:
        return ""
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    return (
        f"the host is too busy to be profiled: repeated measurements differ by {disagreement:.0%}"
        f" in the median, {allowed:.0%} are allowed; its load is {load:.1f} on"
        f" {cores} cores, what measuring takes included"
    )


def pairs(machine: Machine) -> Iterator[tuple[int, int]]:
    """Ordered pairs of devices."""
    count = machine.n_devices
    return ((s, t) for s in range(count) for t in range(count) if s != t)
