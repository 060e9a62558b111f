"""Placements of many kinds, from sensible to senseless, to compare simulation and reality on."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suite.core.arrays import Ints
from suite.core.errors import BudgetExhausted, Unsupported
from suite.core.placement import Placement
from suite.core.problem import Problem
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.search.subprocess_call import NativeCrash
from suite.simulator.judges import make_simulator

PARTITIONERS = ("scotch", "mincut", "metis")
BEST: dict[str, dict[str, Any]] = {
    "m_etf": {},
    "best_of_random": {"k": 50},
    "annealing": {"evaluations": 400},
    "hdp_tuned": {"updates": 25},
}
"""Planners whose best is taken, and with which parameters."""
MOVED = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Shares of the colocation classes that a random placement takes away from a contiguous one."""
_TRIES = 20
"""Draws for each placement wanted, after which known ones and those too large for memory end it."""


Make = Callable[[Problem, np.random.Generator, int], Ints]
"""Draws one placement, int32[ops]; the number says which of its kind."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A placement and where it comes from."""

    kind: str
    """``single``, ``expert``, ``contiguous``, ``partitioner``, ``random`` or ``best``."""
    number: int
    """Counts those of its kind."""
    placement: Placement
    about: dict[str, Any] = field(default_factory=dict)
    """How it was made, for the record."""


def draw(
    problem: Problem, placements: int, seed: int, best: Mapping[str, Mapping[str, object]] = BEST
) -> list[Drawn]:
    """Draw about ``placements`` different placements of all kinds, always the same ones.

    One a device, the expert's, one a partitioner and one of each planner in ``best`` (name ->
    parameters), as far as the problem has them; the rest are contiguous and random in equal
    numbers. Those that run out of memory in the simulator are left out: to run them would stop the
    machine, not a cell.
    """
    deck = _Deck(problem)
    for devices in _singles(problem):
        deck.add("single", devices)
    if problem.expert is not None:
        deck.add("expert", problem.expert)
    for name in PARTITIONERS:
        for devices in _answer(problem, name, {}, seed):
            deck.add("partitioner", devices, placer=name, drawn_with=seed)
    for name, parameters in best.items():
        for devices in _answer(problem, name, parameters, seed):
            deck.add("best", devices, placer=name, drawn_with=seed, **parameters)
    deck.fill((len(deck.kept) + placements) // 2, "contiguous", contiguous, seed)
    deck.fill(placements, "random", random, seed)
    return deck.kept[:placements]


class _Deck:
    """Keeps the placements that are new and fit in memory."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.simulator = make_simulator(problem)
        self.seen: set[str] = set()
        self.kept: list[Drawn] = []

    def add(self, kind: str, devices: Ints, **about: object) -> None:
        """Keep a placement, int[ops], unless it is there already or runs out of memory."""
        placement = Placement.of(self.problem, devices)
        known = placement.hash in self.seen
        self.seen.add(placement.hash)
        if not known and not self.simulator.run(placement.devices).oom.any():
            number = sum(drawn.kind == kind for drawn in self.kept)
            self.kept.append(Drawn(kind, number, placement, about))

    def fill(self, size: int, kind: str, make: Make, seed: int) -> None:
        """Draw placements of a kind until ``size`` are kept in all, or nothing more comes."""
        rng, before = _rng(self.problem, kind, seed), len(self.kept)
        for number in range(_TRIES * max(0, size - before)):
            if len(self.kept) >= size:
                return
            self.add(kind, make(self.problem, rng, number), drawn_with=seed)


def _rng(problem: Problem, kind: str, seed: int) -> np.random.Generator:
    text = f"{problem.graph.name}/{problem.machine.name}/{kind}/{seed}"
    return np.random.default_rng(list(hashlib.sha256(text.encode()).digest()))


def _singles(problem: Problem) -> Iterator[Ints]:
    """Everything on one device, as far as it may run there."""
    for device in range(problem.machine.n_devices):
        yield _allowed(problem, np.full(problem.graph.n_classes, device))


def contiguous(problem: Problem, rng: np.random.Generator, number: int) -> Ints:
    """Cut the topological order, by work, into two to four runs on devices in random order."""
    work = problem.seconds.min(axis=1)
    pieces = 2 + number % 3
    done = np.cumsum(work) / work.sum()
    run_of = np.searchsorted(np.sort(rng.random(pieces - 1)), done)
    devices = rng.permutation(problem.machine.n_devices)
    on = devices[np.arange(pieces) % len(devices)]
    return _allowed(problem, on[run_of[problem.graph.leaders]])


def random(problem: Problem, rng: np.random.Generator, number: int) -> Ints:
    """Move a share of the classes of a contiguous placement to random devices."""
    devices = contiguous(problem, rng, number)
    on = devices[problem.graph.leaders].astype(np.int64)
    moved = rng.random(len(on)) < MOVED[number % len(MOVED)]
    on[moved] = rng.integers(problem.machine.n_devices, size=int(moved.sum()))
    return _allowed(problem, on)


def _allowed(problem: Problem, classes: Ints) -> Ints:
    """Devices of operations, int32[ops]; a class that may not go where asked goes to the first."""
    rows = np.arange(len(classes))
    first = problem.allowed.argmax(axis=1)
    fitting = np.where(problem.allowed[rows, classes], classes, first)
    return np.asarray(fitting[problem.graph.colocation], np.int32)


def _answer(
    problem: Problem, name: str, parameters: Mapping[str, object], seed: int
) -> Iterator[Ints]:
    """The placement of a placer, unless it declines such problems, or dies of one (a warning)."""
    search = Search(problem, make_simulator(problem), seed)
    try:
        yield make_placer(name, parameters).place(problem, search).devices
    except Unsupported:
        return
    except (NativeCrash, BudgetExhausted) as error:
        warnings.warn(f"{name} gives no placement to compare on: {error}", stacklevel=2)
