"""Transfers one after the other: a device sends or receives one tensor at a time, compiled.

As Baechi's scheduler books them (Jeon et al. 2020, sequential communication). A tensor goes once
to a device, when the first of its readers is placed there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from suite.core.problem import Problem


class Engines(NamedTuple):
    """What has been sent. Times are float64 seconds."""

    made: Any
    """[tensors]: when the tensor's producer ends."""
    origin: Any
    """int64[tensors]: its producer's device."""
    there: Any
    """[tensors, devices]: when it can be read there; infinite if it has not been sent."""
    free: Any
    """[devices]: when the device has nothing to send or receive any more."""


def idle_engines(problem: Problem) -> Engines:
    """Return the engines before the step: nothing made, nothing sent."""
    tensors, count = problem.graph.n_tensors, problem.machine.n_devices
    return Engines(
        np.zeros(tensors),
        np.zeros(tensors, np.int64),
        np.full((tensors, count), np.inf),
        np.zeros(count),
    )


@numba.njit(cache=True)
def arrives(engines, work, inputs, device):  # type: ignore[no-untyped-def]
    """When the last of these tensors can be on a device, if they were sent now."""
    last, channel = 0.0, engines.free[device]
    for tensor in inputs:
        come = engines.there[tensor, device]
        if come == np.inf:
            source = engines.origin[tensor]
            begin = max(engines.made[tensor], channel, engines.free[source])
            come = channel = begin + _seconds(work, tensor, source, device)
        last = max(last, come)
    return last


@numba.njit(cache=True)
def fetch(engines, work, inputs, device):  # type: ignore[no-untyped-def]
    """Send those of the tensors that are not on the device."""
    for tensor in inputs:
        if engines.there[tensor, device] == np.inf:
            source = engines.origin[tensor]
            begin = max(engines.made[tensor], engines.free[device], engines.free[source])
            end = begin + _seconds(work, tensor, source, device)
            engines.there[tensor, device] = end
            engines.free[source] = engines.free[device] = end


@numba.njit(cache=True)
def make(engines, outputs, device, end):  # type: ignore[no-untyped-def]
    """An operation on the device has made these tensors."""
    for tensor in outputs:
        engines.made[tensor] = engines.there[tensor, device] = end
        engines.origin[tensor] = device


@numba.njit(cache=True)
def _seconds(work, tensor, source, target):  # type: ignore[no-untyped-def]
    return work.latency[source, target] + work.size[tensor] * work.per_byte[source, target]
