"""A workload of Tarnawski et al., a split of it, and what is asked of an algorithm."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Origin:
    """What a workload of ours was coarsened from."""

    task: str
    """A task of ``models/``, or the name of a graph; empty for models read in other ways."""
    file: str
    """The graph file; of a model read in another way, what it is; empty for a task."""
    machine: str
    """Its name or TOML file."""
    gpus: int
    inference: bool
    """Whether the workload is the forward pass alone."""
    fingerprint: str
    """That of the problem."""

    def as_dict(self) -> dict[str, Any]:
        """For the file."""
        return asdict(self)


@dataclass(frozen=True)
class Workload:
    """A DAG of nodes with times on CPU and accelerator; all times in milliseconds."""

    name: str
    ids: Ints
    """int64[nodes]: the ids of the file."""
    cpu: Floats
    """float64[nodes], ms."""
    accelerator: Floats
    """float64[nodes], ms; infinite where the accelerator does not support the node."""
    size: Floats
    """float64[nodes], bytes it takes on an accelerator."""
    backward: NDArray[np.bool_]
    """bool[nodes]: belongs to the backward pass."""
    colour: Ints
    """int64[nodes]: nodes of one colour share a device; every node has one."""
    edges: Ints
    """int64[edges, 2]: source and destination, positions not ids."""
    cost: Floats
    """float64[nodes], ms to move the node's output between an accelerator and host memory."""
    accelerators: int
    cpus: int
    memory: float
    """Bytes of one accelerator."""
    bandwidth: float
    """Bytes per second that costs and sizes of the edges imply (median), NaN without sizes."""
    origin: Origin | None = None
    """The task that ``placebench graph`` coarsened; None: not one of ours."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.ids)

    @property
    def devices(self) -> int:
        """Accelerators first, then CPUs."""
        return self.accelerators + self.cpus


@dataclass(frozen=True)
class Split:
    """Where each node runs."""

    device: Ints
    """int64[nodes]: accelerators are 0 to K - 1, CPUs follow."""
    stage: Ints
    """int64[nodes]: number of the call on its accelerator (latency only; 0 otherwise)."""

    @staticmethod
    def of(device: Ints) -> Split:
        """One call an accelerator."""
        return Split(np.asarray(device, np.int64), np.zeros(len(device), np.int64))


@dataclass(frozen=True)
class Question:
    """What an algorithm is asked."""

    workload: Workload
    objective: str
    """``throughput`` (the largest load) or ``latency`` (of one sample)."""
    gap: float = 0.01
    """Relative gap at which an integer program may stop."""
    seconds: float = 60.0
    """Wall-clock limit of an exact algorithm."""
    seed: int = 0
    """Of randomised algorithms."""
    calls: int = 2
    """Calls an accelerator may split its nodes into where splits need not be contiguous."""
    ideals: int = 100_000
    """Ideals that dynamic programming may enumerate before it declines."""
    expert: Split | None = None
    """A human's split."""


@dataclass(frozen=True)
class Claim:
    """What an algorithm answers."""

    split: Split
    status: str
    """``optimal`` (within the gap), ``time limit``, or ``feasible`` (a heuristic's answer)."""
    objective: float | None = None
    """ms; None where the algorithm claims no value."""
    bound: float | None = None
    """ms that no split of its kind can go below, as far as the algorithm proved."""
    contiguous: bool = False
    """Whether the split is claimed to be contiguous."""
