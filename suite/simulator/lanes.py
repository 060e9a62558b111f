"""How many operations a device runs at once: in how many lanes."""

from __future__ import annotations

from suite.core.machine import Machine
from suite.simulator.semantics import Semantics


def lanes_of(machine: Machine, semantics: Semantics) -> list[int]:
    """Lanes of each device: the machine's, where the semantics leaves that to it, else one."""
    lanes: list[int] = machine.parallelism.tolist()
    return lanes if semantics.of_machine else [1] * len(lanes)


def at_once(machine: Machine, semantics: Semantics) -> bool:
    """Whether several things may happen at once.

    That is: a device may run several operations; a channel may take a transfer before the one
    before it has arrived; or what is in host memory is handed on without a copy, whatever the
    channel does. One kernel does for all three, since each takes a quarter of a minute to compile.
    """
    several = machine.parallel or machine.pipelined or machine.one_process
    return semantics.of_machine and several
