"""Which channels a transfer occupies, by the machine and by the semantics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from suite.core.machine import Machine
from suite.simulator.semantics import Semantics

Channels = tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]
"""Names; first and second, int32[devices, devices]: see :attr:`Machine.channels`."""


def channels_of(machine: Machine, semantics: Semantics) -> Channels:
    """The channels of every pair of devices; a broadcast goes from a device to itself."""
    if semantics.channels == "machine":
        return machine.channels
    if semantics.channels == "pair":
        links = tuple(replace(link, channel="pair") for link in machine.links)
        return replace(machine, links=links).channels
    n = machine.n_devices
    source, target = np.indices((n, n), np.int32)
    away = source != target
    if semantics.channels == "sender":
        names = tuple(f"{device.name} send" for device in machine.devices)
        return names, np.where(away | semantics.broadcast, source, -1), np.full_like(source, -1)
    names = tuple(device.name for device in machine.devices)
    return names, np.where(away, source, -1), np.where(away, target, -1)
