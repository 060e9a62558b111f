"""Runs a step that a profile is made of."""

from __future__ import annotations

from suite.core.arrays import Ints
from suite.core.errors import InputError
from suite.execution.measurement import Backend, Measurement, Step, Timing


def run_step(
    backend: Backend, step: Step, devices: Ints, timing: Timing, name: str = ""
) -> Measurement:
    """Run ``step`` with each operation on ``devices`` (int[ops]); InputError when it fails.

    ``name``: of the model that is timed, for the message.
    """
    result = backend.measure(step, devices, timing)
    if result.status != "ok":
        what = f"profiling {name}".strip()
        raise InputError(f"{what} failed ({result.status}): {result.reason}")
    return result
