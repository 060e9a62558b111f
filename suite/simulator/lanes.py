"""How many operations a device runs at once: in how many lanes."""

from __future__ import annotations

from suite.core.machine import Machine
from suite.simulator.semantics import Semantics


def lanes_of(machine: Machine, semantics: Semantics) -> list[int]:
    """Lanes of each device: the machine's, where the semantics leaves that to it, else one."""
    lanes: list[int] = machine.parallelism.tolist()
    return lanes if semantics.of_machine else [1] * len(lanes)
