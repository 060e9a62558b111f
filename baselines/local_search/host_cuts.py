"""What the host takes over from its accelerators: minimum cuts at several prices.

Thousands of small operations are as fast on a CPU as on a GPU or faster, and each alone costs more
in transfers than it saves: it is a whole chain of them that pays. Which of them are to change
sides, all at once, a minimum cut tells where a second of either side and of a transfer has a price
(Stone, Multiprocessor Scheduling with the Aid of Network Flow Algorithms, 1977; prices in place of
the load that a device can bear: Lagrangian relaxation). A cut knows nothing of what waits for what;
several prices give several cuts, and a simulation, or an estimate, tells which is of use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from baselines.local_search.settling import Settling
from suite.bounds.min_cut import Tensors, least_cut
from suite.core.arrays import Bools, Floats
from suite.core.errors import InputError
from suite.core.machine import Machine
from suite.core.problem import Problem

Devices = NDArray[np.int64]
OF_HOST = (0.5, 1.0, 2.0, 4.0)
"""Prices of a second of the host; a second of an accelerator costs 1."""
OF_TRANSFERS = (0.1, 0.25)
"""Prices of a second of a transfer: most of them hold nobody up."""
SCALE = 2**30
"""What a placement on the accelerators costs in the whole numbers that cuts are counted in."""
_CostType = TypeVar("_CostType", float, tuple[float, float])


def check_hosted(share: float) -> None:
    """Raise InputError unless that share of all layouts can be hosted: some must be plain."""
    if not 0 <= share < 1:
        raise InputError(f"hosted is {share}; give a share, 0 to below 1")


class HostCuts:
    """The cuts of one problem; none where there are not both, GPUs and a CPU beside them."""

    def __init__(self, problem: Problem, settling: Settling) -> None:
        """Find the CPU nearest to each GPU, and cut between the first GPU and its own."""
        self._settling = settling
        self._host_of = _hosts(problem.machine)
        gpus = problem.machine.gpus if problem.machine.cpus else ()
        self.taken = _cuts(problem, int(self._host_of[gpus[0]]), gpus[0]) if gpus else []
        """bool[n_classes] a cut, no two alike: what the host takes over. Those that share out the
        work best come first."""

    def hosted(self, row: Devices, number: int) -> Devices:
        """``row``, int64[n_classes], once the host has taken over what this cut gives it."""
        return self._settling.settled(np.where(self.taken[number], self._host_of[row], row))

    def versions(
        self,
        ranked: Sequence[Devices],
        count: int,
        costs: Callable[[list[Devices]], list[_CostType]],
    ) -> list[tuple[_CostType, Devices]]:
        """``count`` placements in which the host takes over, at most, with what they cost.

        Every cut is tried on the first of ``ranked``, int64[n_classes] each; the one that costs
        least there is tried on those that follow.
        """
        rows = [self.hosted(row, at) for row in ranked[:1] for at in range(len(self.taken))][:count]
        if not rows:
            return []
        found = list(zip(costs(rows), rows, strict=True))
        best = min(range(len(found)), key=lambda at: found[at][0])
        rows = [self.hosted(row, best) for row in ranked[1 : 1 + count - len(rows)]]
        return found + list(zip(costs(rows), rows, strict=True))


def _hosts(machine: Machine) -> Devices:
    """int64[devices]: the CPU that a GPU's transfers reach first; other devices stay themselves."""
    host_of = np.arange(machine.n_devices, dtype=np.int64)
    for gpu in machine.gpus if machine.cpus else ():
        away = [
            machine.transfer_seconds(gpu, cpu, 0) + machine.transfer_seconds(cpu, gpu, 0)
            for cpu in machine.cpus
        ]
        host_of[gpu] = machine.cpus[int(np.argmin(away))]
    return host_of


def _cuts(problem: Problem, host: int, gpu: int) -> list[Bools]:
    """Cut at all prices, and keep what does not make the host the busiest device."""
    sides = np.array([host, gpu])
    allowed = np.asarray(problem.allowed[:, sides], np.bool_)
    # What runs on neither of the two stays where it is.
    allowed[~allowed.any(axis=1), 1] = True
    seconds = problem.class_seconds[:, sides]
    seconds = np.where(np.isfinite(seconds), seconds, 0.0)
    tensors = Tensors.of(problem, host, gpu)
    found: dict[bytes, tuple[float, Bools]] = {}
    for of_host, of_transfers in product(OF_HOST, OF_TRANSFERS):
        taken = _cut(seconds * [of_host, 1.0], allowed, tensors, of_transfers)
        on_host = float(seconds[taken, 0].sum())
        on_each = float(seconds[~taken, 1].sum()) / len(problem.machine.gpus)
        if taken.any() and on_host <= on_each:
            found.setdefault(taken.tobytes(), (on_each, taken))
    return [taken for _, taken in sorted(found.values(), key=lambda one: one[0])]


def _cut(seconds: Floats, allowed: Bools, tensors: Tensors, of_transfers: float) -> Bools:
    """bool[n_classes]: what the first side takes in the cheapest cut.

    ``seconds``, float64[n_classes, 2], cost what they are and transfers what they are told to.
    """
    simple = np.where(allowed[:, 1], 1, 0)
    nanoseconds = seconds * 1e9
    most = float(nanoseconds[np.arange(len(simple)), simple].sum())
    most += of_transfers * tensors.moved(simple)
    unit = max(most, 1.0) / SCALE
    # Each class is rounded up by one unit at most.
    enough = SCALE + len(seconds) + len(tensors.makers) + 1
    costs = np.where(allowed, np.ceil(np.minimum(nanoseconds / unit, enough)), enough)
    sent = np.ceil(np.minimum(tensors.costs * (of_transfers / unit), enough)).astype(np.int64)
    cut = least_cut(costs.astype(np.int64), replace(tensors, costs=sent), enough)
    return np.asarray(cut.devices == 0, np.bool_)
