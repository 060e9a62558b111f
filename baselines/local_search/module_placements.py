"""Placements of whole modules of a graph: drawn, changed in one thing, and as class devices.

A search over all classes seldom leaves a placement that is good in each part and poor as a whole: a
layer that goes elsewhere alone makes the step longer until another one goes, too. Over modules,
mostly layers, of which there are a few dozen, such exchanges are single steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.host_cuts import HostCuts
from baselines.local_search.settling import Settling
from baselines.structure.find import Structure
from suite.core.arrays import Floats
from suite.core.cores import my_share
from suite.core.problem import Problem

Devices = NDArray[np.int64]
COARSE = 2
"""Modules are of one of so many resolutions, the coarsest."""
Value = TypeVar("Value")
NEVER = -1
"""The number of the cut where the host takes over nothing."""


@dataclass(frozen=True)
class ModulePlacement:
    """Where the modules of one resolution are; devices are indices of accelerators."""

    resolution: int
    device: tuple[int, ...]
    """Of each module."""
    dealt: Mapping[int, tuple[int, ...]]
    """Modules whose steps are dealt out over devices in turn instead."""
    apart: Mapping[int, int]
    """Where that part of a module is that no product follows, such as weight gradients, if not
    with the rest."""
    host: int = NEVER
    """The cut that tells what the host takes over."""


Laid = tuple[ModulePlacement, Devices]
"""A placement and its class devices, int64[n_classes]."""


class ModulePlacements:
    """The placements of one problem's modules."""

    def __init__(self, problem: Problem, structure: Structure, hosted: float) -> None:
        """Weigh the modules by the time that their operations take where they are fastest.

        In a share ``hosted`` of what is drawn the host takes over what a cut gives it, where there
        is a cut.
        """
        self._structure, self._settling, self._hosted = structure, Settling(problem), hosted
        everywhere = range(problem.machine.n_devices)
        self._devices = np.array(problem.machine.accelerators or everywhere, np.int64)
        self._cuts = _Unsettled(problem, self._settling)
        seconds = problem.class_seconds[:, self._devices].min(axis=1)
        seconds = np.where(np.isfinite(seconds), seconds, 0.0)
        modules = structure.modules[:COARSE]
        self._loads = [np.asarray(np.bincount(one, seconds), np.float64) for one in modules]
        self._orders = [_by_depth(module, structure) for module in modules]

    @property
    def count(self) -> int:
        """Accelerators."""
        return len(self._devices)

    def laid(self, placement: ModulePlacement, parent: Laid | None = None) -> Laid:
        """The placement and its class devices; light classes go where fewest transfers are.

        With a ``parent`` all is as there but for what is elsewhere now and what is beside that.
        """
        row = self._plain(placement)
        if parent is None:
            return placement, self._settling.settled(row)
        before, settled = parent
        moved = np.flatnonzero(row != self._plain(before))
        settled = settled.copy()
        settled[moved] = row[moved]
        return placement, self._settling.settled(settled, moved)

    def all_laid(
        self, placements: Sequence[ModulePlacement], parents: Iterable[Laid | None] = repeat(None)
    ) -> list[Laid]:
        """Lay each of these, on all cores of this process."""
        with ThreadPoolExecutor(my_share().threads) as pool:
            return list(pool.map(self.laid, placements, parents))

    def _plain(self, placement: ModulePlacement) -> Devices:
        """int64[n_classes]: each module, its light classes too, where it is told to be."""
        found, module = self._structure, self._structure.modules[placement.resolution]
        row = self._devices[list(placement.device)][module]
        for number, over in placement.dealt.items():
            members = module == number
            row[members] = self._devices[list(over)][found.step[members] % len(over)]
        for number, device in placement.apart.items():
            row[(module == number) & found.last] = self._devices[device]
        if placement.host != NEVER:
            row = self._cuts.hosted(row, placement.host)
        return np.asarray(row, np.int64)

    def drawn(self, rng: np.random.Generator) -> ModulePlacement:
        """Draw a placement: modules in a row as they are passed, or each where least is so far.

        Up to three of them, drawn by load, are dealt out, mostly without what no product follows.
        """
        resolution = int(rng.integers(len(self._loads)))
        load = self._loads[resolution]
        some = rng.permutation(self.count)
        if rng.random() < 0.5:
            some = some[: rng.integers(1, self.count + 1)]
        laid = _in_runs if rng.random() < 0.5 else _by_load
        device = some[laid(load, self._orders[resolution], len(some), rng)]
        dealt = {self._heavy(resolution, rng): self._some(rng) for _ in range(rng.integers(4))}
        apart = {number: self._any(rng) for number in dealt if rng.random() < 0.7}
        host = self._cut(rng) if rng.random() < self._hosted else NEVER
        return ModulePlacement(resolution, tuple(device.tolist()), dealt, apart, host)

    def changed(self, placement: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """The same but for one thing, or two."""
        for _ in range(1 + int(rng.random() < 0.4)):
            change = _CHANGES[rng.integers(len(_CHANGES))]
            placement = change(self, placement, rng)
        return placement

    def _exchange(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """Two modules change places."""
        device, one, other = list(of.device), self._module(of, rng), self._module(of, rng)
        device[one], device[other] = device[other], device[one]
        return replace(of, device=tuple(device))

    def _send(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """A module goes to a device, as a whole."""
        device, one = list(of.device), self._module(of, rng)
        device[one] = self._any(rng)
        return replace(of, device=tuple(device), dealt=_without(of.dealt, one))

    def _deal(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """A module is dealt out."""
        return replace(of, dealt={**of.dealt, self._module(of, rng): self._some(rng)})

    def _widen(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """A module that is dealt out is so over one device more or less."""
        if not of.dealt:
            return of
        one = list(of.dealt)[rng.integers(len(of.dealt))]
        over = list(of.dealt[one])
        others = [device for device in range(self.count) if device not in over]
        if others and rng.random() < 0.5:
            over.insert(rng.integers(len(over) + 1), others[rng.integers(len(others))])
        elif len(over) > 1:
            over.pop(rng.integers(len(over)))
        return replace(of, dealt={**of.dealt, one: tuple(over)})

    def _part(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """What no product follows in a module goes to a device."""
        return replace(of, apart={**of.apart, self._module(of, rng): self._any(rng)})

    def _join(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """Such a part goes back to the rest of its module."""
        if not of.apart:
            return of
        return replace(of, apart=_without(of.apart, list(of.apart)[rng.integers(len(of.apart))]))

    def _rename(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """Two devices change all that they have: who is served first goes by their numbers."""
        one, other = self._any(rng), self._any(rng)
        name = list(range(self.count))
        name[one], name[other] = other, one
        return replace(
            of,
            device=tuple(name[device] for device in of.device),
            dealt={number: tuple(name[d] for d in over) for number, over in of.dealt.items()},
            apart={number: name[device] for number, device in of.apart.items()},
        )

    def _take_over(self, of: ModulePlacement, rng: np.random.Generator) -> ModulePlacement:
        """The host takes over what another cut gives it, or nothing."""
        return replace(of, host=self._cut(rng) if rng.random() < 0.5 else NEVER)

    def _any(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.count))

    def _some(self, rng: np.random.Generator) -> tuple[int, ...]:
        """At least two devices in any order, where there are two."""
        least = min(2, self.count)
        return tuple(rng.permutation(self.count)[: rng.integers(least, self.count + 1)].tolist())

    def _module(self, of: ModulePlacement, rng: np.random.Generator) -> int:
        """A module, mostly a heavy one."""
        if rng.random() < 0.7:
            return self._heavy(of.resolution, rng)
        return int(rng.integers(len(of.device)))

    def _heavy(self, resolution: int, rng: np.random.Generator) -> int:
        """A module drawn in proportion to its load."""
        passed = np.cumsum(self._loads[resolution])
        at = int(np.searchsorted(passed, rng.random() * passed[-1], side="right"))
        return min(at, len(passed) - 1)

    def _cut(self, rng: np.random.Generator) -> int:
        taken = self._cuts.taken if self._hosted else []
        return int(rng.integers(len(taken))) if taken else NEVER


class _Unsettled(HostCuts):
    """What the host takes over, before light classes settle."""

    def hosted(self, row: Devices, number: int) -> Devices:
        """``row``, int64[n_classes], once the host has taken over what this cut gives it."""
        return np.where(self.taken[number], self._host_of[row], row)


_Change = Callable[[ModulePlacements, ModulePlacement, np.random.Generator], ModulePlacement]
_CHANGES: tuple[_Change, ...] = (
    ModulePlacements._exchange,
    ModulePlacements._send,
    ModulePlacements._deal,
    ModulePlacements._widen,
    ModulePlacements._part,
    ModulePlacements._join,
    ModulePlacements._rename,
    ModulePlacements._take_over,
)


def _without(of: Mapping[int, Value], key: int) -> Mapping[int, Value]:
    return {one: value for one, value in of.items() if one != key}


def _by_depth(module: Devices, structure: Structure) -> Devices:
    """The modules as the forward pass comes by them; those outside it at the end."""
    forward, count = np.isfinite(structure.depth), int(module.max()) + 1
    sums = np.bincount(module[forward], structure.depth[forward], minlength=count)
    sizes = np.bincount(module[forward], minlength=count)
    depth = np.where(sizes > 0, sums / np.maximum(1, sizes), np.inf)
    return np.argsort(depth, kind="stable").astype(np.int64)


def _in_runs(load: Floats, order: Devices, count: int, rng: np.random.Generator) -> Devices:
    """int64[modules]: of so many devices one after the other, each with a run of about its share.

    Shares are equal, or half of the time any.
    """
    shares = rng.exponential(size=count) if rng.random() < 0.5 else np.ones(count)
    middle = np.cumsum(load[order]) - load[order] / 2
    ends = np.cumsum(shares)[:-1] / shares.sum() * max(float(load.sum()), 1e-12)
    device = np.zeros(len(load), np.int64)
    device[order] = np.searchsorted(ends, middle, side="right")
    return device


def _by_load(load: Floats, order: Devices, count: int, rng: np.random.Generator) -> Devices:
    """int64[modules]: in any order, each on that of so many devices which has least so far."""
    device, sums = np.zeros(len(load), np.int64), np.zeros(count)
    for one in rng.permutation(len(load)):
        device[one] = np.argmin(sums)
        sums[device[one]] += load[one]
    return device
