"""The time of every operation of a task on one device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suite.core.arrays import Floats
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.execution.measurement import Backend, Step, Timing
from suite.execution.profiling.run_step import run_step

_TIMING = Timing(steps=15, discarded=5, traced=5, timeout=600)


@dataclass(frozen=True, eq=False)
class OpTimes:
    """Seconds of a task's operations on one device."""

    seconds: Floats
    """float64[ops]: NaN where it was not seen."""
    step_time: float
    """Seconds of the whole step, untraced."""
    factor: float
    """What every traced time was multiplied with, so that they add up to the step."""
    scatter: Floats
    """float64[ops]: relative standard deviation of the traced steps; NaN where it was not seen."""


def measure_ops(backend: Backend, graph: OpGraph, step: Step, device: int, cpu: int) -> OpTimes:
    """Run a whole step on one device (what has no GPU kernel on ``cpu``) and time its operations.

    Tracing slows operations down and leaves out the executor's dispatch, so traced times are scaled
    by one factor: their sum becomes the untraced step time. OpenVINO tells the time of a kernel
    under the name of one of its operations; the others take none. InputError when no
    operation has a time: kernels below a microsecond, in which it counts, have none.
    """
    kernels = np.ones(graph.n_classes, np.bool_)
    np.logical_and.at(kernels, graph.colocation, graph.gpu_kernel)
    on_gpu = "GPU:" in backend.device_names[device]
    devices = np.where(kernels[graph.colocation] | (not on_gpu), device, cpu)
    result = run_step(backend, step, devices, _TIMING, graph.name)
    step_time = result.step_time
    assert step_time is not None, "more steps are timed than discarded"
    traced = np.array([trace.op_seconds(graph.op_names) for trace in result.traces])
    fused = result.parts is not None
    if fused:
        traced = np.nan_to_num(traced)
    seconds = np.maximum(np.median(traced, axis=0), 0.0 if fused else 1e-9)
    seconds[devices != device] = np.nan
    total = float(np.nansum(seconds))
    if not total:
        raise InputError(
            f"profiling {graph.name} failed: no time of a microsecond or more is told of any of its"
            " operations; profile a larger model"
        )
    factor = 1.0 if on_gpu else step_time / total
    with np.errstate(invalid="ignore"):
        scatter = np.std(traced, axis=0, ddof=1) / seconds
    return OpTimes(seconds * factor, step_time, factor, scatter)
