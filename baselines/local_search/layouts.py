"""Starting points made of the repeated structure: layers in a row, a few parts dealt out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.structure.find import Structure
from suite.core.arrays import Floats
from suite.core.problem import Problem

Devices = NDArray[np.int64]
DEALT = 3
"""At most so many modules are dealt out step by step."""
COARSE = 2
"""Modules are of one of so many resolutions, the coarsest."""


class Layouts:
    """Draws layouts of one problem's modules on its accelerators."""

    def __init__(self, problem: Problem, structure: Structure) -> None:
        """Weigh the modules by the time their operations take where they are fastest."""
        self.structure = structure
        everywhere = range(problem.machine.n_devices)
        self.devices = np.array(problem.machine.accelerators or everywhere, np.int64)
        seconds = problem.class_seconds[:, self.devices].min(axis=1)
        self._seconds = np.where(np.isfinite(seconds), seconds, 0.0)

    def draw(self, rng: np.random.Generator) -> Devices:
        """int64[n_classes]: each module on one device, in the order of the forward pass.

        In runs of like load, in turn, or there and back. Up to DEALT modules, drawn by load, are
        dealt out step by step, and often all that no product follows in them is kept together.
        """
        structure, devices = self.structure, self.devices
        module = structure.modules[rng.integers(min(COARSE, len(structure.modules)))]
        load = np.asarray(np.bincount(module, self._seconds), np.float64)
        dealt = self._heavy(load, rng)
        in_row = self._in_order(module, len(load))
        in_row = in_row[~np.isin(in_row, dealt)]
        device_of = np.zeros(len(load), np.int64)
        device_of[in_row] = devices[_laid(load[in_row], len(devices), int(rng.integers(3)))]
        row = device_of[module]
        together = rng.random() < 0.7
        count = rng.integers(min(2, len(devices)), len(devices) + 1)
        over = np.sort(rng.permutation(devices)[:count])
        for number in dealt.tolist():
            members = module == number
            row[members] = over[structure.step[members] % len(over)]
            if together:
                row[members & structure.last] = rng.choice(devices)
        return np.asarray(row, np.int64)

    def _heavy(self, load: Floats, rng: np.random.Generator) -> Devices:
        count = min(int(rng.integers(DEALT + 1)), int(np.count_nonzero(load)))
        if not count:
            return np.zeros(0, np.int64)
        drawn = rng.choice(len(load), size=count, replace=False, p=load / load.sum())
        return np.asarray(drawn, np.int64)

    def _in_order(self, module: Devices, count: int) -> Devices:
        """The modules by how deep they lie in the forward pass; those outside it at the end."""
        forward = np.isfinite(self.structure.depth)
        sums = np.bincount(module[forward], self.structure.depth[forward], minlength=count)
        sizes = np.bincount(module[forward], minlength=count)
        depth = np.where(sizes > 0, sums / np.maximum(1, sizes), np.inf)
        return np.asarray(np.argsort(depth, kind="stable"), np.int64)


def _laid(load: Floats, devices: int, way: int) -> Devices:
    """Numbers of devices for modules in a row: runs of like load, in turn, or there and back."""
    if way == 0:
        middle = np.cumsum(load) - load / 2
        share = middle / max(float(load.sum()), 1e-12)
        return np.asarray(np.minimum(devices - 1, share * devices), np.int64)
    turn = np.arange(len(load), dtype=np.int64) % (devices if way == 1 else 2 * devices)
    return np.asarray(np.where(turn < devices, turn, 2 * devices - 1 - turn), np.int64)
