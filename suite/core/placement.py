"""Placement: a device for every operation, checked against the problem it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from suite.core.arrays import Ints, digest, frozen
from suite.core.errors import InputError

if TYPE_CHECKING:
    from suite.core.graph import OpGraph
    from suite.core.problem import Problem


@dataclass(frozen=True, eq=False)
class Placement:
    """Device indices, one per operation, valid for the problem it was made for."""

    devices: Ints
    """int32[ops]."""

    @classmethod
    def of(cls, problem: Problem, devices: Ints) -> Placement:
        """Check ``devices`` (int[ops]) and wrap it.

        Raises InputError when it is incomplete or out of range, puts an operation on a device
        without its kernel, or splits a colocation class.
        """
        check_devices(problem, np.asarray(devices))
        return cls(frozen(devices, np.int32))

    @classmethod
    def of_classes(cls, problem: Problem, class_devices: Ints) -> Placement:
        """Place whole colocation classes: ``class_devices`` is int[n_classes]."""
        return cls.of(problem, np.asarray(class_devices)[problem.graph.colocation])

    @classmethod
    def of_names(cls, problem: Problem, names: Mapping[str, str]) -> Placement:
        """Read operation name -> device name; InputError counts the missing and unknown ones."""
        graph, machine = problem.graph, problem.machine
        check_operations(graph, names)
        index = {name: machine.index(name) for name in sorted(set(names.values()))}
        return cls.of(problem, np.array([index[names[op]] for op in graph.op_names], np.int32))

    def names(self, problem: Problem) -> dict[str, str]:
        """Return operation name -> device name, in the graph's order."""
        devices = [d.name for d in problem.machine.devices]
        return {
            op: devices[d]
            for op, d in zip(problem.graph.op_names, self.devices.tolist(), strict=True)
        }

    @cached_property
    def hash(self) -> str:
        """16 hexadecimal digits of the device array."""
        return digest([np.asarray(self.devices, np.int32)])


def _same_options(missing: Sequence[str], unknown: Sequence[str]) -> str:
    return "give --fetch, --batch and --input as when it was made, or place this graph"


def check_operations(
    graph: OpGraph,
    names: Collection[str],
    advice: Callable[[Sequence[str], Sequence[str]], str] = _same_options,
) -> None:
    """Raise InputError unless ``names`` are those of the graph's operations.

    It counts those that are missing and those that are unknown, names the first, and ends with
    what ``advice`` says of the two lists.
    """
    known, given = set(graph.op_names), set(names)
    if known == given:
        return
    missing = [op for op in graph.op_names if op not in given]
    unknown = [op for op in names if op not in known]
    first = f"no device for {missing[0]!r}" if missing else f"{unknown[0]!r} in addition"
    raise InputError(
        f"the placement is of another graph: it has {first} ({len(missing)} operations missing,"
        f" {len(unknown)} unknown); {advice(missing, unknown)}"
    )


def check_devices(problem: Problem, devices: Ints) -> None:
    """Raise InputError unless ``devices`` (int[ops]) is a valid placement of ``problem``."""
    graph, machine = problem.graph, problem.machine
    if devices.dtype.kind not in "iu":
        raise InputError(
            f"a placement of {graph.name} is of type {devices.dtype}; give one whole number, the"
            " device, for each operation"
        )
    if devices.shape != (graph.n_ops,):
        raise InputError(
            f"a placement of {graph.name} needs {graph.n_ops} devices, not {devices.shape}"
        )
    if devices.size and (devices.min() < 0 or devices.max() >= machine.n_devices):
        op = int(np.argmax((devices < 0) | (devices >= machine.n_devices)))
        raise InputError(
            f"operation {graph.op_names[op]!r} is on device {devices[op]}, but {machine.name} has"
            f" devices 0..{machine.n_devices - 1}"
        )
    if len(graph.cpu_only):
        is_gpu = np.zeros(machine.n_devices, np.bool_)
        is_gpu[list(machine.gpus)] = True
        for at in np.flatnonzero(is_gpu[devices[graph.cpu_only]])[:1]:
            op = int(graph.cpu_only[at])
            raise InputError(
                f"operation {graph.op_names[op]!r} ({graph.op_types[op]}) has no GPU kernel but is"
                f" on {machine.devices[devices[op]].name}; put it on a CPU"
            )
    if problem.has_odd_kernels:
        stopped = ~np.isfinite(problem.seconds[np.arange(graph.n_ops), devices])
        for op in np.flatnonzero(stopped)[:1]:
            raise InputError(
                f"operation {graph.op_names[op]!r} cannot run on"
                f" {machine.devices[devices[op]].name}, where its seconds are infinite"
            )
    # A search asks this of every placement, and most operations are a class of their own.
    apart = devices.take(graph.followers) != devices.take(graph.followed)
    for at in np.flatnonzero(apart)[:1]:
        op, leader = graph.followers[at], graph.followed[at]
        raise InputError(
            f"operations {graph.op_names[leader]!r} and {graph.op_names[op]!r} must share a device"
            f" but are on {machine.devices[devices[leader]].name} and"
            f" {machine.devices[devices[op]].name}"
        )
