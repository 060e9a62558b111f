"""How far the figures of a machine may be off, and how a search is to heed that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from suite.core.arrays import Floats, digest
from suite.core.errors import InputError
from suite.core.problem import Problem

SCORES = ("mean", "worst")


@dataclass(frozen=True)
class Judging:
    """How a search is to be judged on several machines."""

    score: str = "mean"
    """``mean`` or ``worst``: of the step times on all machines."""
    machines: int = 5
    """How many are drawn; each costs one simulation an evaluation."""
    spread: float | None = None
    """Relative standard deviation of every figure; None: what the machine's profile recorded."""
    seed: int = 0
    """Which machines are drawn. The cells of a grid are judged by the same ones."""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn (InputError)."""
        if self.score not in SCORES:
            names = ", ".join(SCORES)
            raise InputError(f"judge: score is {self.score!r}; one of {names}, or real")
        if self.machines < 1:
            raise InputError(f"judge: machines is {self.machines}; give >= 1")
        if self.spread is not None and not 0 < self.spread <= 1:
            raise InputError(f"judge: spread is {self.spread}; give more than 0, up to 1 (100 %)")
        if self.seed < 0:
            raise InputError(f"judge: seed is {self.seed}; give >= 0")


@dataclass(frozen=True)
class LinkSpread:
    """Relative standard deviations of what a link's transfers cost."""

    latency: float
    bandwidth: float
    overhead: float
    """Of the sender's and of the receiver's."""
    copy_bandwidth: float


@dataclass(frozen=True, eq=False)
class Spread:
    """Relative standard deviations of a machine's figures: 0.1 is 10 %."""

    devices: Mapping[str, float]
    """Device name -> of the speed of all its operations together."""
    links: Mapping[tuple[str | None, str | None], LinkSpread]
    """A link's ``source`` and ``target`` -> its figures'."""
    operations: Mapping[str, Floats] = field(default_factory=dict)
    """Device kind -> float64[ops], of each operation's own time; NaN where it was not measured, and
    a kind that is missing was not: there it is its device's spread."""

    @classmethod
    def uniform(cls, problem: Problem, share: float) -> Spread:
        """The same spread of everything: of each device, each operation, each link's figures."""
        machine = problem.machine
        ends = LinkSpread(share, share, share, share)
        return cls(
            {device.name: share for device in machine.devices},
            {(link.source, link.target): ends for link in machine.links},
        )

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change whenever a number does."""
        links = sorted((str(ends), one) for ends, one in self.links.items())
        return digest([sorted(self.devices.items()), links, *_flat(self.operations)])


def _flat(operations: Mapping[str, Floats]) -> list[object]:
    return [part for kind in sorted(operations) for part in (kind, operations[kind])]
