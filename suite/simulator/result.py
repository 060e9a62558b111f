"""What the simulator says of one placement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.simulator.semantics import Semantics

SEMANTICS_VERSION = 1
"""Part of every fingerprint: goes up when the same placement would give other bits."""

POLICIES = ("fifo", "priority", "stack")


def check_policy(policy: str, semantics: Semantics) -> None:
    """Raise InputError for an unknown policy, and for one that the semantics cannot have."""
    if policy not in POLICIES:
        raise InputError(f"no policy {policy!r}; one of {', '.join(POLICIES)}")
    if semantics.sequential:
        raise InputError(f"semantics {semantics.name} has no policies; leave the policy out")
    if semantics.booked and policy != "fifo":
        raise InputError(f"semantics {semantics.name} books channels ahead; use the policy fifo")


def own_policy(machine: Machine, semantics: Semantics) -> str:
    """The machine's own order of ready operations, where the semantics leaves that to it."""
    return machine.dispatch if semantics.of_machine else "fifo"


@dataclass(frozen=True)
class TooLong:
    """A step that was broken off: it takes longer than its deadline. Its memory is unknown."""

    deadline: int
    """Nanoseconds."""
    at_least: int
    """Nanoseconds that it certainly takes, above ``deadline``."""


@dataclass(frozen=True, eq=False)
class StepResult:
    """One simulated training step."""

    nanoseconds: int
    """When the last operation or transfer ends."""
    busy: NDArray[np.int64]
    """int64[devices]: nanoseconds spent computing."""
    peak_memory: NDArray[np.int64]
    """int64[devices]: bytes."""
    moved: NDArray[np.int64]
    """int64[channels]: bytes, in the order of ``channels_of`` the machine and the semantics."""
    oom: Bools
    """bool[devices]: whether the device is out of memory."""

    @property
    def step_time(self) -> float:
        """Seconds."""
        return self.nanoseconds / 1e9

    def same_as(self, other: StepResult) -> bool:
        """Whether every bit agrees."""
        pairs = [(getattr(self, f), getattr(other, f)) for f in ("busy", "peak_memory", "moved")]
        exact = self.nanoseconds == other.nanoseconds
        return exact and all(np.array_equal(a, b) for a, b in pairs)
