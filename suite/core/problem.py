"""Problem: all that a placer may know."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import Bools, Floats, Ints, digest, frozen, same_columns
from suite.core.colocation import Rule, colocation_groups
from suite.core.costs import op_seconds
from suite.core.errors import InputError
from suite.core.graph import OpGraph
from suite.core.machine import Machine

LONGEST = 1e9
"""Seconds an operation may take: what is beyond does not count in nanoseconds."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A graph to place on a machine, with the costs the placer is told."""

    graph: OpGraph
    machine: Machine
    seconds: Floats
    """float64[ops, devices]: time of each operation; infinite where there is no kernel."""
    expert: Ints | None = None
    """int32[ops]: the human expert's devices, where the model has one."""
    rule: Rule | None = None
    """The hand-made co-location group of an operation, where the model has such rules."""

    def __post_init__(self) -> None:
        """Freeze the costs; InputError on absurd ones, or when a class fits no device."""
        object.__setattr__(self, "seconds", frozen(self.seconds, np.float64))
        shape = self.graph.n_ops, self.machine.n_devices
        if self.seconds.shape != shape:
            raise InputError(f"seconds are {list(self.seconds.shape)}; give {list(shape)}")
        for op, device in np.argwhere(~(self.seconds >= 0))[:1]:
            raise InputError(
                f"operation {self.graph.op_names[op]!r} takes {self.seconds[op, device]:.3g} s on"
                f" {self.machine.devices[device].name}; give 0 or more, or infinity for no kernel"
            )
        for op, device in np.argwhere((self.seconds > LONGEST) & np.isfinite(self.seconds))[:1]:
            raise InputError(
                f"operation {self.graph.op_names[op]!r} takes {self.seconds[op, device]:.3g} s on"
                f" {self.machine.devices[device].name}; check units (FLOP, bytes, seconds)"
            )
        for index in np.flatnonzero(~self.allowed.any(axis=1))[:1]:
            op = self.graph.op_names[int(np.argmax(self.graph.colocation == index))]
            raise InputError(
                f"no device of {self.machine.name} can run the colocation class of {op!r};"
                " add a CPU to the machine"
            )

    @classmethod
    def create(
        cls,
        graph: OpGraph,
        machine: Machine,
        expert: Ints | None = None,
        rule: Rule | None = None,
    ) -> Problem:
        """Cost every operation on every device with the analytic model of suite.core.costs."""
        return cls(graph, machine, op_seconds(graph, machine), expert, rule)

    @cached_property
    def handed_on(self) -> Bools:
        """bool[tensors]: what devices hand to one another without a copy, those of one process."""
        return self.graph.in_host_memory & self.machine.one_process

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """int64[ops]: co-location groups by ColocRL's heuristics (:mod:`suite.core.colocation`)."""
        return colocation_groups(self.graph, self.rule)

    @cached_property
    def kinds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Devices on which all operations take the same: what holds for one holds for its kind.

        (first device of each kind int64[kinds], kind of each device int64[devices]).
        """
        return same_columns(self.seconds)

    @cached_property
    def allowed(self) -> Bools:
        """bool[n_classes, devices]: where each colocation class may go."""
        firsts, kind = self.kinds
        allowed = np.ones((self.graph.n_classes, len(firsts)), np.bool_)
        for column, device in enumerate(firsts):
            stopped = ~np.isfinite(self.seconds[:, device])
            allowed[self.graph.colocation[stopped], column] = False
        return np.ascontiguousarray(allowed[:, kind])

    @cached_property
    def has_odd_kernels(self) -> bool:
        """Whether an operation cannot run on some device for more than that a GPU has no kernel."""
        known = np.zeros(self.seconds.shape, np.bool_)
        known[np.ix_(self.graph.cpu_only, np.array(self.machine.gpus, np.intp))] = True
        return bool((~np.isfinite(self.seconds) & ~known).any())

    @cached_property
    def class_seconds(self) -> Floats:
        """float64[n_classes, devices]: summed op times of each class; infinite if not allowed."""
        firsts, kind = self.kinds
        classes, n = self.graph.colocation, self.graph.n_classes
        sums = [np.bincount(classes, self.seconds[:, device], n) for device in firsts]
        return np.ascontiguousarray(np.stack(sums, axis=1)[:, kind])

    @cached_property
    def class_persistent_bytes(self) -> NDArray[np.int64]:
        """int64[n_classes]: bytes of variables in each class."""
        total = np.zeros(self.graph.n_classes, np.int64)
        np.add.at(total, self.graph.colocation, self.graph.persistent_bytes)
        return total

    @cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits of graph, machine and costs."""
        return digest([self.graph.fingerprint, self.machine.fingerprint, self.seconds])
