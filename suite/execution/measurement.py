"""What is run, how it is timed, what comes back, and the interface of all that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError

STATUSES = ("ok", "oom", "timeout", "error")


@dataclass(frozen=True, eq=False)
class Step:
    """A training step to run: a flat GraphDef, whose nodes are an OpGraph's operations."""

    graph_def: Path
    """Protocol buffer, gzipped where the name ends in ``.gz``; of a Network, its model."""
    op_names: tuple[str, ...]
    """The nodes in the order in which a placement lists them."""
    seed: int = 0
    """Decides the values of inputs and variables (:mod:`suite.execution.values`)."""

    @classmethod
    def of_task(cls, name: str) -> Step:
        """The captured step of a task of ``models/``; InputError where it cannot be captured."""
        from suite.capture.cache import graph_def_path, load_graph

        return cls(graph_def_path(name), load_graph(name).op_names)


@dataclass(frozen=True)
class Timing:
    """The protocol of a measurement: HDP's (section 4.1) unless told otherwise."""

    steps: int = 10
    """Timed steps, the discarded ones included."""
    discarded: int = 5
    """How many of the first are left out of the median."""
    traced: int = 1
    """Steps run afterwards with step statistics on: they give timelines and CPU memory."""
    timeout: float = 600.0
    """Seconds for all steps; start-up (loading, partitioning, initial values) does not count."""

    def __post_init__(self) -> None:
        """Refuse counts that leave nothing to measure (InputError)."""
        if not 0 <= self.discarded < self.steps:
            raise InputError(f"{self.discarded} of {self.steps} steps discarded; keep at least one")
        if self.traced < 0 or not self.timeout > 0:
            raise InputError(
                f"traced is {self.traced}, timeout {self.timeout}; give >= 0 and more than 0 s"
            )


@dataclass(frozen=True, eq=False)
class Trace:
    """What ran where and when in one step, by TensorFlow's step statistics; sorted by start."""

    names: tuple[str, ...]
    """Operation of every event: the GraphDef's, or one that TensorFlow added (``RecvTensor``)."""
    labels: tuple[str, ...]
    """TensorFlow's own words for it: operation type and inputs, or size and route of a transfer."""
    devices: Ints
    """int32[events]: index of the device, -1 where it is none of the backend's."""
    start: Floats
    """float64[events]: seconds since the first event began."""
    end: Floats
    """float64[events]: seconds, on the same clock (on remote hosts: each one's own)."""

    def op_seconds(self, op_names: Sequence[str]) -> Floats:
        """float64[ops]: how long each operation ran; NaN where it did not."""
        index = {name: i for i, name in enumerate(op_names)}
        seconds = np.full(len(op_names), np.nan)
        for name, length in zip(self.names, self.end - self.start, strict=True):
            if name in index:
                seconds[index[name]] = np.nansum([seconds[index[name]], length])
        return seconds


@dataclass(frozen=True)
class OutputError:
    """How far a placed model's outputs are from those of one device alone (HSDAG, Table 4)."""

    device: int
    """Which device."""
    mse: float
    """Mean squared difference, over all elements of all outputs."""
    cosine: float
    """Cosine of the angle between both; NaN where one is zero."""
    l2: float
    """Euclidean norm of the difference."""

    @classmethod
    def of(cls, device: int, outputs: Floats, alone: Floats) -> OutputError:
        """Compare outputs, float64[elements] each."""
        off = outputs - alone
        norms = float(np.linalg.norm(outputs) * np.linalg.norm(alone))
        cosine = float(outputs @ alone) / norms if norms else float("nan")
        return cls(device, float(np.mean(off**2)), cosine, float(np.linalg.norm(off)))


@dataclass(frozen=True, eq=False)
class Measurement:
    """What became of one placed step."""

    status: str
    """``ok``, ``oom`` (a real ResourceExhausted), ``timeout`` or ``error``."""
    reason: str = ""
    """One line, empty when ``ok``."""
    step_times: tuple[float, ...] = ()
    """Seconds of every timed step in order, the discarded ones included."""
    discarded: int = 0
    """How many of the first :attr:`step_time` leaves out."""
    outputs: tuple[tuple[float, ...], ...] = ()
    """For each timed step, the scalars it returns (the loss), by name of their operations."""
    peak_memory: tuple[int | None, ...] = ()
    """Bytes of every device; None where nothing tells."""
    memory_source: str = "unknown"
    """``allocator``, ``step statistics`` or ``unknown``."""
    virtual: bool = False
    """Whether devices shared hardware: one GPU or one pool of cores split into several."""
    traces: tuple[Trace, ...] = ()
    """One a traced step."""
    errors: tuple[OutputError, ...] = ()
    """Of OpenVINO's models: one for each device that can run the whole model."""
    parts: int | None = None
    """Of OpenVINO's models: how many parts the placement cuts it into."""

    @property
    def kept(self) -> tuple[float, ...]:
        """Seconds of the steps that count."""
        return self.step_times[self.discarded :]

    @property
    def step_time(self) -> float | None:
        """Median seconds of the steps that count; None when there are none."""
        return median(self.kept) if self.kept else None

    def outputs_against(self, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """The errors as numbers for JSON, by name of the device; ``names``: of every device."""
        return {
            names[one.device]: {"mse": one.mse, "cosine": one.cosine, "l2": one.l2}
            for one in self.errors
        }


class Backend(Protocol):
    """Runs placed steps, one at a time. Close it, or use it as a context manager."""

    @property
    def name(self) -> str:
        """``session``, ``cluster`` or ``openvino``."""
        ...

    @property
    def device_names(self) -> tuple[str, ...]:
        """The library's name of every device, in the order of the machine's devices."""
        ...

    def measure(self, step: Step, devices: Ints, timing: Timing) -> Measurement:
        """Run ``step`` with each operation on ``devices`` (int[ops], indices of device_names).

        Every failure of the run is a Measurement; the next call starts afresh. Raises InputError
        when the placement does not fit the step or the backend.
        """
        ...

    def close(self) -> None:
        """End all processes; harmless when called twice."""
        ...

    def __enter__(self) -> Self:
        """Return the backend."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
