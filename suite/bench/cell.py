"""Cell: one placer on one task, machine, number of GPUs and seed; its path is its identity."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.core.uncertainty import Judging

SIMULATOR = "simulator"
START_UP = 3600.0
"""Seconds that a real run's processes and its first step may take."""


@dataclass(frozen=True)
class Cell:
    """The unit of work and of recording."""

    grid: str
    """The grid's name; that of a grid run for real has ``@`` and the backend behind it."""
    machine: str
    gpus: int
    task: str
    placer: str
    """The placer's name, or the label that the grid gives to it with these parameters."""
    seed: int

    @property
    def name(self) -> str:
        """Readable identity, such as ``quick/k40/2gpu/nmt_2/scotch/seed0``."""
        where = f"{self.grid}/{self.machine}/{self.gpus}gpu"
        return f"{where}/{self.task}/{self.placer}/seed{self.seed}"

    def path(self, results: Path) -> Path:
        """The record's file below ``results``."""
        return results / f"{self.name}.json"

    def as_dict(self) -> dict[str, Any]:
        """The fields, for the record."""
        return asdict(self)

    def derived_seed(self, base: int) -> int:
        """A 63-bit seed from the cell's identity and the base seed (grid name left out)."""
        identity = f"{self.machine}/{self.gpus}/{self.task}/{self.placer}/{self.seed}/{base}"
        return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:8], "big") >> 1


@dataclass(frozen=True)
class MeasureTop:
    """That the best answers of a search are run for real, and the fastest is the answer."""

    count: int
    """How many, the placer's own answer among them."""
    rounds: int = 3
    """How often each is run."""
    apart: float = 0.02
    """Share of the operations by which two of them differ at least, devices of one kind renamed:
    what a search finds last is many times the same but for one operation."""

    def __post_init__(self) -> None:
        """Refuse counts below one and what is no share (InputError)."""
        if self.count < 1 or self.rounds < 1:
            raise InputError(
                f"measure-top: {self.count} answers, {self.rounds} rounds; give one at least"
            )
        if not 0 <= self.apart < 1:
            raise InputError(f"measure-top: apart is {self.apart}; give a share from 0 to below 1")


@dataclass(frozen=True)
class RealRuns:
    """That a search is judged by running each placement (:mod:`suite.execution.real_judge`)."""

    score: str = "real"


def judging(table: Mapping[str, Any]) -> Judging | RealRuns:
    """What a search is judged by, from a table of a grid or a record; InputError if unclear."""
    return RealRuns(**table) if table.get("score") == "real" else Judging(**table)


@dataclass(frozen=True)
class Job:
    """A cell with all that its grid fixes for it."""

    cell: Cell
    placer: str
    """The placer's registered name."""
    parameters: Mapping[str, Any]
    """Its fields."""
    graph_file: str | None
    """Graph to place when the task is not a model of ``models/``."""
    base_seed: int
    max_evaluations: int | None
    max_seconds: float | None
    timeout: float | None
    """Seconds after which the cell is stopped; of a real run, its steps after start-up."""
    semantics: str = "placebench"
    """The simulator's rules (:mod:`suite.simulator.semantics`), by name."""
    backend: str = SIMULATOR
    """What judges the placement: ``simulator``, ``session`` or ``cluster``."""
    cluster_file: str | None = None
    """The servers of backend ``cluster``; None: those of this host."""
    expose: bool = False
    """Whether those servers may be reached from other hosts."""
    judge: Judging | RealRuns | None = None
    """What the search is judged by; None: a simulation on the machine as it is."""
    measure_top: MeasureTop | None = None
    """Whether the best answers are run for real before there is one; None: they are not."""

    @property
    def runs_for_real(self) -> list[str]:
        """Which settings ask for real runs before there is an answer."""
        judged = ["judge real"] if isinstance(self.judge, RealRuns) else []
        return judged + ["measure_top"] * (self.measure_top is not None)

    @property
    def limit(self) -> float | None:
        """Seconds after which its process is stopped, whatever it does; None: never."""
        if self.timeout is None or self.backend == SIMULATOR:
            return self.timeout
        top = self.measure_top
        runs = 0 if top is None else top.count * top.rounds
        if isinstance(self.judge, RealRuns):
            if self.max_evaluations is None:
                return None
            runs += self.max_evaluations
        return (2 + runs) * self.timeout + START_UP
