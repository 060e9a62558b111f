"""Which rules a simulation has, known to the compiler: what is off costs nothing.

Each rule is a name below, which the simulator's functions ask for. Each set of rules is compiled on
its own, and the names stand for its rules (:func:`suite.simulator.compiled.kernel.kernels`).
"""

from __future__ import annotations

from typing import NamedTuple

from suite.core.machine import Machine
from suite.simulator.semantics import Semantics

BROADCAST = False
BOOKED = False
TRAILING = False
RESTING = False
BLOCKS = False
ALLOC_AT_END = False
DETAILED = False
PAUSING = False
TIMED = False


class Rules(NamedTuple):
    """Rules of :class:`suite.simulator.semantics.Semantics`, and three that follow from others."""

    broadcast: bool
    booked: bool
    trailing: bool
    """``trailing_latency``."""
    resting: bool
    """Whether there is a ``rest``."""
    blocks: bool
    alloc_at_end: bool
    detailed: bool
    """Whether transfers may keep devices from computing, or the policy is ``stack``."""
    pausing: bool
    """``resting`` or ``detailed``: a device may be neither idle nor computing."""
    timed: bool = False
    """Whether there are deadlines."""


def rules_of(machine: Machine, policy: str, semantics: Semantics) -> Rules:
    """Tell the compiler what a machine, a policy and semantics ask for."""
    detailed = policy == "stack" or (semantics.of_machine and machine.occupied)
    return Rules(
        broadcast=semantics.broadcast,
        booked=semantics.booked,
        trailing=semantics.trailing_latency,
        resting=semantics.rest > 0,
        blocks=semantics.blocks,
        alloc_at_end=semantics.alloc_at_end,
        detailed=detailed,
        pausing=detailed or semantics.rest > 0,
    )
