"""Starting points made of the repeated structure: layers in a row, a few parts dealt out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.host_cuts import HostCuts
from baselines.local_search.settling import Settling
from baselines.structure.find import Structure
from suite.core.arrays import Floats
from suite.core.problem import Problem

Devices = NDArray[np.int64]
DEALT = 3
"""At most so many modules are dealt out step by step."""
FAVOURED = 4
"""Mean rank, from 1, of the layouts that are varied."""
COARSE = 2
"""Modules are of one of so many resolutions, the coarsest."""
ATTEMPTS = 4
"""Layouts drawn at most for one that was not judged before."""
AT_ONCE = 8
"""Layouts judged at a time: as few as this, so that a large graph's do not fill memory, and so that
what is varied soon follows what was found."""
_CostType = TypeVar("_CostType", float, tuple[float, float])


@dataclass(frozen=True)
class Layout:
    """How the modules of one resolution are laid on the accelerators; numbers are indices there."""

    resolution: int
    way: int
    """Modules in a row: 0 in runs of like load, 1 in turn, 2 there and back."""
    used: int
    """Accelerators that the row is laid on."""
    shares: tuple[float, ...]
    """How much of the load each accelerator's run takes, relative to the others."""
    dealt: tuple[float, ...]
    """Which modules are dealt out step by step: shares of the whole load, 0 to 1, as they are
    passed when modules are counted one after the other, so that heavy ones are met most often."""
    over: tuple[int, ...]
    """The accelerators that these are dealt over, in order."""
    together: int
    """The accelerator of all in dealt modules that no product follows, or -1: dealt out too."""


class Layouts:
    """Layouts of one problem's modules: drawn, varied, and as class devices."""

    def __init__(self, problem: Problem, structure: Structure, settling: Settling) -> None:
        """Weigh the modules by the time their operations take where they are fastest."""
        self.structure, self._settling = structure, settling
        everywhere = range(problem.machine.n_devices)
        self.devices = np.array(problem.machine.accelerators or everywhere, np.int64)
        seconds = problem.class_seconds[:, self.devices].min(axis=1)
        self._seconds = np.where(np.isfinite(seconds), seconds, 0.0)
        self._problem = problem

    @cached_property
    def host_cuts(self) -> HostCuts:
        """What the host may take over in a layout."""
        return HostCuts(self._problem, self._settling)

    def judged(
        self,
        count: int,
        hosted: float,
        rng: np.random.Generator,
        costs: Callable[[list[Devices]], list[_CostType]],
    ) -> tuple[list[tuple[_CostType, Devices]], list[tuple[_CostType, Devices]]]:
        """Judge so many layouts: half of them drawn, the others variations of the fastest.

        The last of all, a share ``hosted``, are the fastest once the host has taken over what a cut
        gives it, if a cut gives it anything. Returns the plain ones and these: what ``costs`` says
        of each, and its class devices, int64[n_classes].
        """
        over = int(count * hosted)
        if over and not self.host_cuts.taken:
            over = 0
        rows: list[Devices] = []
        paid: list[_CostType] = []
        tried: list[Layout] = []
        seen: set[bytes] = set()
        while len(tried) < count - over:
            best = sorted(range(len(tried)), key=lambda at: paid[at])
            fastest = [tried[at] for at in best] if len(tried) >= count / 2 else []
            new = []
            for _ in range(min(AT_ONCE, count - over - len(tried))):
                layout, row = self._new(fastest, seen, rng)
                seen.add(row.tobytes())
                tried.append(layout)
                new.append(row)
            rows += new
            paid += costs(new)
        plain = list(zip(paid, rows, strict=True))
        if not over:
            return plain, []
        ranked = [row for _, row in sorted(plain, key=lambda one: one[0])]
        return plain, self.host_cuts.versions(ranked, over, costs)

    def _new(
        self, fastest: list[Layout], seen: set[bytes], rng: np.random.Generator
    ) -> tuple[Layout, Devices]:
        """Draw a layout, or vary one of these, until it places as none before; ATTEMPTS at most."""
        for _ in range(ATTEMPTS):
            layout = self.vary(fastest, rng) if fastest else self.draw(rng)
            row = self.laid(layout)
            if row.tobytes() not in seen:
                break
        return layout, row

    def draw(self, rng: np.random.Generator) -> Layout:
        """Draw all of a layout."""
        return Layout(**{name: draw(self, rng) for name, draw in _DRAWN.items()})

    def vary(self, ranked: Sequence[Layout], rng: np.random.Generator) -> Layout:
        """Draw one or two things of a layout anew, of one of the first of ``ranked``."""
        layout = ranked[min(int(rng.geometric(1 / FAVOURED)), len(ranked)) - 1]
        names = rng.permutation(list(_DRAWN))
        some = names[: int(rng.integers(1, 3))].tolist()
        return replace(layout, **{name: _DRAWN[name](self, rng) for name in some})

    def laid(self, layout: Layout) -> Devices:
        """int64[n_classes]: each module on one device, in the order of the forward pass.

        But for those that are dealt out. Light classes then go where fewest transfers are.
        """
        structure, devices = self.structure, self.devices
        module = structure.modules[layout.resolution]
        load = np.asarray(np.bincount(module, self._seconds), np.float64)
        passed = np.cumsum(load) / max(float(load.sum()), 1e-12)
        dealt = np.unique(np.minimum(np.searchsorted(passed, layout.dealt), len(load) - 1))
        in_row = self._in_order(module, len(load))
        in_row = in_row[~np.isin(in_row, dealt)]
        device_of = np.zeros(len(load), np.int64)
        shares = np.array(layout.shares[: layout.used])
        device_of[in_row] = devices[_laid(load[in_row], shares, layout.way)]
        row = device_of[module]
        over = devices[list(layout.over)]
        for number in dealt.tolist():
            members = module == number
            row[members] = over[structure.step[members] % len(over)]
            if layout.together >= 0:
                row[members & structure.last] = devices[layout.together]
        return self._settling.settled(row)

    def _in_order(self, module: Devices, count: int) -> Devices:
        """The modules by how deep they lie in the forward pass; those outside it at the end."""
        forward = np.isfinite(self.structure.depth)
        sums = np.bincount(module[forward], self.structure.depth[forward], minlength=count)
        sizes = np.bincount(module[forward], minlength=count)
        depth = np.where(sizes > 0, sums / np.maximum(1, sizes), np.inf)
        return np.asarray(np.argsort(depth, kind="stable"), np.int64)

    def _resolution(self, rng: np.random.Generator) -> int:
        return int(rng.integers(min(COARSE, len(self.structure.modules))))

    def _way(self, rng: np.random.Generator) -> int:
        return int(rng.integers(3))

    def _used(self, rng: np.random.Generator) -> int:
        """All accelerators, or half of the time any number: a few, where transfers are dear."""
        most = len(self.devices)
        return most if rng.random() < 0.5 else int(rng.integers(1, most + 1))

    def _shares(self, rng: np.random.Generator) -> tuple[float, ...]:
        """Equal ones, or half of the time any."""
        most = len(self.devices)
        return tuple(rng.exponential(size=most).tolist()) if rng.random() < 0.5 else (1.0,) * most

    def _dealt(self, rng: np.random.Generator) -> tuple[float, ...]:
        return tuple(rng.random(int(rng.integers(DEALT + 1))).tolist())

    def _over(self, rng: np.random.Generator) -> tuple[int, ...]:
        most = len(self.devices)
        count = int(rng.integers(min(2, most), most + 1))
        return tuple(np.sort(rng.permutation(most)[:count]).tolist())

    def _together(self, rng: np.random.Generator) -> int:
        return int(rng.integers(len(self.devices))) if rng.random() < 0.7 else -1


_DRAWN: dict[str, Callable[[Layouts, np.random.Generator], Any]] = {
    "resolution": Layouts._resolution,
    "way": Layouts._way,
    "used": Layouts._used,
    "shares": Layouts._shares,
    "dealt": Layouts._dealt,
    "over": Layouts._over,
    "together": Layouts._together,
}


def _laid(load: Floats, shares: Floats, way: int) -> Devices:
    """Numbers of devices for modules in a row: runs, in turn, or there and back."""
    devices = len(shares)
    if way == 0:
        middle = (np.cumsum(load) - load / 2) / max(float(load.sum()), 1e-12)
        ends = np.cumsum(shares)[:-1] / shares.sum()
        return np.asarray(np.searchsorted(ends, middle, side="right"), np.int64)
    turn = np.arange(len(load), dtype=np.int64) % (devices if way == 1 else 2 * devices)
    return np.asarray(np.where(turn < devices, turn, 2 * devices - 1 - turn), np.int64)
