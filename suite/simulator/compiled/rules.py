"""Which rules a simulation has, known to the compiler: what is off costs nothing."""

from __future__ import annotations

from typing import NamedTuple

from suite.core.machine import Machine
from suite.simulator.semantics import Semantics

Flag = tuple[()] | tuple[bool]
"""Empty where off. The length of a tuple is part of its type, so a kernel is compiled for each set
of flags, and the compiler drops what is off."""
ON: Flag = (True,)
OFF: Flag = ()


class Rules(NamedTuple):
    """Rules of :class:`suite.simulator.semantics.Semantics`, and three that follow from others."""

    broadcast: Flag
    booked: Flag
    trailing: Flag
    """``trailing_latency``."""
    resting: Flag
    """Whether there is a ``rest``."""
    blocks: Flag
    alloc_at_end: Flag
    detailed: Flag
    """Whether transfers may keep devices from computing, or the policy is ``stack``."""
    pausing: Flag
    """``resting`` or ``detailed``: a device may be neither idle nor computing."""
    timed: Flag = OFF
    """Whether there are deadlines."""


def rules_of(machine: Machine, policy: str, semantics: Semantics) -> Rules:
    """Tell the compiler what a machine, a policy and semantics ask for."""
    detailed = policy == "stack" or (semantics.of_machine and machine.occupied)
    return Rules(
        broadcast=_flag(semantics.broadcast),
        booked=_flag(semantics.booked),
        trailing=_flag(semantics.trailing_latency),
        resting=_flag(semantics.rest > 0),
        blocks=_flag(semantics.blocks),
        alloc_at_end=_flag(semantics.alloc_at_end),
        detailed=_flag(detailed),
        pausing=_flag(detailed or semantics.rest > 0),
    )


def _flag(value: bool) -> Flag:
    return ON if value else OFF
