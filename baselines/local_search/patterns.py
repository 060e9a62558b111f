"""Moves on the repeated structure of a graph: a part of it is laid out on the devices anew.

A part is a role, a module of roles, the half of a module that is or is not followed by products
(weight gradients and updates, or all else), or what serves one variable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from baselines.structure.find import Structure

Devices = NDArray[np.int64]


@dataclass(frozen=True)
class Move:
    """What a search asks for: this class elsewhere."""

    member: int
    target: int
    beside: int | None
    """The class at the other end of the transfer that is to be saved, if it is about one."""


class Patterns:
    """The moves of one structure."""

    def __init__(
        self, structure: Structure, devices: int, kinds: tuple[str, ...] | None = None
    ) -> None:
        """Prepare the moves, all of MOVES or those of these names, for so many devices."""
        self.structure, self.devices = structure, devices
        self._kinds = [MOVES[name] for name in (MOVES if kinds is None else kinds)]

    def apply(self, row: Devices, move: Move, rng: np.random.Generator) -> None:
        """Change ``row``, int64[n_classes], by a kind of move and a part that are drawn."""
        kind = self._kinds[rng.integers(len(self._kinds))]
        kind(self, row, move, self.part(move.member, rng), rng)

    def part(self, member: int, rng: np.random.Generator) -> Devices:
        """Draw a part that contains this class: its classes in ascending order."""
        found = self.structure
        level = int(rng.integers(-2, len(found.modules)))
        if level == -1 and found.serves[member] >= 0:
            return np.flatnonzero(found.serves == found.serves[member])
        if level < 0:
            return np.flatnonzero(found.role == found.role[member])
        inside = found.modules[level] == found.modules[level][member]
        if rng.random() < 2 / 3:
            inside &= found.last == found.last[member]
        return np.flatnonzero(inside)

    def some(self, devices: Devices, rng: np.random.Generator) -> Devices:
        """Draw at least two of the devices, mostly in order, forward or reversed."""
        least = min(2, len(devices))
        chosen = rng.permutation(devices)[: rng.integers(least, len(devices) + 1)]
        if rng.random() < 0.7:
            chosen = np.sort(chosen)
        return chosen[::-1] if rng.random() < 0.5 else chosen

    def send(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Send a part to the device; half of the time only what is where the class is."""
        if rng.random() < 0.5:
            part = part[row[part] == row[move.member]]
        row[part] = move.target

    def cycle(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Deal a part's steps out over devices in turn."""
        over = self.some(np.arange(self.devices), rng)
        row[part] = over[self.structure.step[part] % len(over)]

    def runs(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Deal a part's steps out over devices in runs of equal length."""
        over = self.some(np.arange(self.devices), rng)
        at = self.structure.step[part]
        low, high = at.min(), at.max() + 1
        row[part] = over[(at - low) * len(over) // (high - low)]

    def follow(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Put each step of a part where the other end's role is in the same step."""
        if move.beside is None:
            return
        step, role = self.structure.step, self.structure.role
        led_by = np.flatnonzero(role == role[move.beside])
        where = np.full(int(step.max()) + 1, -1, np.int64)
        where[step[led_by]] = row[led_by]
        at = step[part] + step[move.beside] - step[move.member]
        inside = (at >= 0) & (at < len(where))
        part, at = part[inside], at[inside]
        row[part] = np.where(where[at] >= 0, where[at], row[part])

    def swap(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Exchange two devices within a part."""
        here, there = row[move.member], move.target
        first, second = part[row[part] == here], part[row[part] == there]
        row[first], row[second] = there, here

    def border(self, row: Devices, move: Move, part: Devices, rng: np.random.Generator) -> None:
        """Send the steps around the class that are where it is: a run's border shifts."""
        near = np.abs(self.structure.step[part] - self.structure.step[move.member])
        here = (row[part] == row[move.member]) & (near <= rng.geometric(0.4))
        row[part[here]] = move.target


MOVES = {
    "send": Patterns.send,
    "cycle": Patterns.cycle,
    "runs": Patterns.runs,
    "follow": Patterns.follow,
    "swap": Patterns.swap,
    "border": Patterns.border,
}
