"""A machine whose file says what a step on it is taken to be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from suite.core.arrays import digest
from suite.core.machine import Machine


@dataclass(frozen=True, eq=False)
class JudgedMachine(Machine):
    """A machine with semantics of its own: what runs graphs there is known to work otherwise."""

    semantics: str = ""
    """Their name (:mod:`suite.simulator.semantics`), which holds unless others are asked for."""

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever a number of the machine, or the name, does."""
        return digest([super().fingerprint, self.semantics])
