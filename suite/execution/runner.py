"""The parent's side of a measurement: send a request, watch the clock and the processes."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.execution.child import Child, ChildDied, await_any
from suite.execution.measurement import Measurement, Step
from suite.execution.request import Done, Failed, Request, Started

START_LIMIT = 1800.0
"""Seconds that start-up may take: loading, placing, initial values and the first step."""


def measured(
    driver: Child, servers: Sequence[Child], request: Request, virtual: bool
) -> Measurement:
    """Have ``driver`` run a request; every way in which that fails is a Measurement.

    The death of any of ``servers`` ends it at once.
    """
    driver.send(request)
    deadline, words = time.monotonic() + START_LIMIT, f"start-up took over {START_LIMIT:g} s"
    try:
        while True:
            answer = await_any([driver, *servers], deadline - time.monotonic())
            if answer is None:
                return Measurement("timeout", words, virtual=virtual)
            message = answer[1]
            if isinstance(message, Started):
                limit = request.timing.timeout
                deadline, words = time.monotonic() + limit, f"not done after {limit:g} s"
            elif isinstance(message, Failed):
                return Measurement(message.status, message.reason, virtual=virtual)
            elif isinstance(message, Done):
                return _measurement(message, request, virtual)
    except ChildDied as death:
        return Measurement("error", str(death), virtual=virtual)


def _measurement(done: Done, request: Request, virtual: bool) -> Measurement:
    return Measurement(
        "ok",
        step_times=done.step_times,
        discarded=request.timing.discarded,
        outputs=done.outputs,
        peak_memory=done.peak_memory,
        memory_source=done.memory_source,
        virtual=virtual,
        traces=done.traces,
        errors=done.errors,
        parts=done.parts,
    )


def check_devices(step: Step, devices: Ints, count: int) -> Ints:
    """``devices`` as int32[ops]; InputError where it does not fit the step or the devices."""
    if np.shape(devices) != (len(step.op_names),):
        raise InputError(
            f"a placement of this step needs {len(step.op_names)} devices, not {np.shape(devices)}"
        )
    for op in np.flatnonzero((devices < 0) | (devices >= count))[:1]:
        raise InputError(
            f"operation {step.op_names[op]!r} is on device {devices[op]}; there are 0..{count - 1}"
        )
    return np.asarray(devices, np.int32)
