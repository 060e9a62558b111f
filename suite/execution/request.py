"""Messages between the parent and the process that runs steps."""

from __future__ import annotations

from dataclasses import dataclass

from suite.core.arrays import Ints
from suite.execution.measurement import OutputError, Step, Timing, Trace


@dataclass(frozen=True)
class Hardware:
    """What the driver is to use."""

    cpus: int
    """Logical CPUs of its own."""
    gpus: int
    """GPUs of its own, split from the first when there are fewer."""
    workers: tuple[str, ...] = ()
    """``host:port`` of every server; none: a session in its own process."""
    address: str = ""
    """``host:port`` at which servers reach it."""


@dataclass(frozen=True)
class Ready:
    """The driver's greeting."""

    device_names: tuple[str, ...]
    """TensorFlow's names of the devices that there are."""
    virtual: bool
    """Whether they share hardware."""
    refusal: str = ""
    """Why the hardware asked for cannot be had."""
    warning: str = ""
    """What the user may not expect of the devices."""


@dataclass(frozen=True, eq=False)
class Request:
    """Run a step."""

    step: Step
    device_names: tuple[str, ...]
    """Of the devices that ``devices`` counts."""
    devices: Ints
    """int[ops]: placement."""
    own_allocator: tuple[bool, ...]
    """Whether the device is the only one that its allocator serves."""
    timing: Timing


@dataclass(frozen=True)
class Started:
    """Start-up is over: the next step is the first that counts against the time limit."""


@dataclass(frozen=True, eq=False)
class Done:
    """All steps ran."""

    step_times: tuple[float, ...]
    outputs: tuple[tuple[float, ...], ...]
    peak_memory: tuple[int | None, ...]
    memory_source: str
    traces: tuple[Trace, ...]
    errors: tuple[OutputError, ...] = ()
    parts: int | None = None


@dataclass(frozen=True)
class Failed:
    """The step did not run."""

    status: str
    """``oom`` or ``error``."""
    reason: str
