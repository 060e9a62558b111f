"""The time of every operation of a task on one device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.costs import HOST_TYPES
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Device, Machine
from suite.core.problem import Problem
from suite.execution.measurement import Backend, Step, Timing
from suite.execution.profiling.run_step import run_step
from suite.execution.profiling.samples import ROUNDS
from suite.simulator.compiled.judge import Simulator

_TIMING = Timing(steps=15, discarded=5, traced=5, timeout=600)


@dataclass(frozen=True, eq=False)
class OpTimes:
    """Seconds of a task's operations on one device."""

    seconds: Floats
    """float64[ops]: NaN where it was not seen."""
    step_time: float
    """Seconds of the whole step, untraced."""
    factor: float
    """What every traced time was multiplied with, so that they make up the step."""
    launch: float
    """Seconds that an operation with kernels takes at least, on a GPU; 0 elsewhere."""
    scatter: Floats
    """float64[ops]: relative standard deviation of the traced steps; NaN where it was not seen."""


def measure_ops(
    backend: Backend, graph: OpGraph, step: Step, device: int, cpu: int, parallelism: int = 1
) -> OpTimes:
    """Run a whole step on one device (what has no GPU kernel on ``cpu``) and time its operations.

    Tracing slows operations down and leaves out the executor's dispatch, so traced times are scaled
    by one factor: the step that they make, ``parallelism`` operations at a time, takes as long as
    the untraced one. Not so on a GPU that waits for its host: kernels take the time they take, but
    none begins before it has been launched. There all operations that launch any get the same least
    time, by which they add up to the step.
    OpenVINO tells the time of a kernel under the name of one of its operations; the others take
    none. InputError when no operation has a time: kernels below a microsecond, in which it counts,
    have none.
    """
    on_gpu = "GPU:" in backend.device_names[device]
    devices = whole_on(backend, graph, device, cpu)
    result = run_step(backend, step, devices, _TIMING, graph.name)
    step_time = result.step_time
    assert step_time is not None, "more steps are timed than discarded"
    traced = np.array([trace.op_seconds(graph.op_names) for trace in result.traces])
    fused = result.parts is not None
    if fused:
        traced = np.nan_to_num(traced)
    seconds = np.maximum(np.median(traced, axis=0), 0.0 if fused else 1e-9)
    seconds[devices != device] = np.nan
    if not np.nansum(seconds):
        raise InputError(
            f"profiling {graph.name} failed: no time of a microsecond or more is told of any of its"
            " operations; profile a larger model"
        )
    launch = 0.0
    if on_gpu:
        launches = np.array([kind not in HOST_TYPES for kind in graph.op_types])
        launches &= np.isfinite(seconds)
        launch = least_time(seconds[launches], step_time - np.nansum(seconds[~launches]))
        seconds[launches] = np.maximum(seconds[launches], launch)
    factor = step_time / step_seconds(graph, seconds, parallelism)
    with np.errstate(invalid="ignore"):
        scatter = np.std(traced, axis=0, ddof=1) / seconds
    return OpTimes(seconds * factor, step_time, factor, launch, scatter)


def typical(times: Sequence[OpTimes]) -> OpTimes:
    """Of the :data:`ROUNDS` fastest rounds that with the median step; of two, the faster."""
    fastest = sorted(times, key=lambda one: one.step_time)[:ROUNDS]
    return fastest[(len(fastest) - 1) // 2]


def whole_on(backend: Backend, graph: OpGraph, device: int, cpu: int) -> Ints:
    """int[ops]: everything on one device; on a GPU, what has no kernel there on ``cpu``."""
    kernels = np.ones(graph.n_classes, np.bool_)
    np.logical_and.at(kernels, graph.colocation, graph.gpu_kernel)
    on_gpu = "GPU:" in backend.device_names[device]
    return np.where(kernels[graph.colocation] | (not on_gpu), device, cpu)


def step_seconds(graph: OpGraph, seconds: Floats, parallelism: int) -> float:
    """Seconds of a step on one device that runs ``parallelism`` operations at once.

    ``seconds``: float64[ops]; those that were not seen, NaN, take none.
    """
    if parallelism == 1:
        return float(np.nansum(seconds))
    device = Device("all", "cpu", 2**62, 1.0, 1.0, 0.0, 0.0, parallelism)
    timed = replace(graph, seconds={device.kind: np.nan_to_num(seconds)})
    problem = Problem.create(timed, Machine("one device", (device,), ()))
    return Simulator(problem).run(np.zeros(graph.n_ops, np.int32)).step_time


def least_time(seconds: Floats, total: float) -> float:
    """The least time by which ``seconds``, float64[n], add up to ``total``: sum(max(s, least)).

    0 where they add up to more, or there are none.
    """
    ordered = np.sort(seconds)
    above = ordered.sum() - np.cumsum(ordered)
    least = (total - above) / np.arange(1, len(ordered) + 1)
    fits = least <= np.append(ordered[1:], np.inf)
    return max(0.0, float(least[np.argmax(fits)])) if len(ordered) else 0.0
