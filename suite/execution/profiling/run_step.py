"""Runs a step that a profile is made of."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.execution.measurement import Backend, Measurement, Step, Timing

ONCE = Timing(steps=1, discarded=0, traced=0, timeout=600)
"""To see whether it runs at all."""
_UNTRACED = Timing(steps=15, discarded=5, traced=0, timeout=600)


class OutOfMemory(InputError):
    """A step that has more to keep than a device's memory."""


def run_step(
    backend: Backend, step: Step, devices: Ints, timing: Timing, name: str = ""
) -> Measurement:
    """Run ``step`` with each operation on ``devices`` (int[ops]); InputError when it fails.

    That is OutOfMemory where a device has too little. ``name``: of the model, for the message.
    """
    result = backend.measure(step, devices, timing)
    if result.status != "ok":
        what = f"profiling {name}".strip()
        kind = OutOfMemory if result.status == "oom" else InputError
        raise kind(f"{what} failed ({result.status}): {result.reason}")
    return result


def time_step(backend: Backend, step: Step, devices: Ints, name: str) -> float:
    """Seconds of a step of model ``name``, untraced, as placed; InputError when it fails."""
    step_time = run_step(backend, step, devices, _UNTRACED, name).step_time
    assert step_time is not None, "more steps are timed than discarded"
    return step_time
