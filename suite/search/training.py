"""What a planner sees that learns on several graphs at once, and how that is taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suite.search.checkpoint import Arrays, Checkpoint
from suite.search.placer import Search

POLICY_FILE = {"file": "policy"}
"""The metadata of a placer's field that names a policy file: its content counts, not its name."""


@dataclass(frozen=True, eq=False)
class Learned:
    """What a planner knows after a training."""

    vocabulary: tuple[str, ...]
    """The types of operations that it can tell apart."""
    weights: Mapping[str, NDArray[np.float32]]


class Learner(Protocol):
    """A placer that can be trained on several graphs, and then start from what it learned."""

    policy: str
    """The policy file to start from; empty: none."""

    def train(self, training: Training) -> Learned:
        """Learn on all graphs until the budgets of their searches are spent."""
        ...


def policy_field(placer: object) -> str | None:
    """The name of a placer's field that names a policy file; None where it has none."""
    if not is_dataclass(placer):
        return None
    return next((f.name for f in fields(placer) if f.metadata == POLICY_FILE), None)


def policy_path(placer: object) -> Path | None:
    """The policy file that a placer starts from; None where there is none."""
    name = policy_field(placer)
    text = "" if name is None else getattr(placer, name)
    return Path(text) if text else None


class Saving(Protocol):
    """What makes the steps of one search."""

    def save(self) -> None:
        """Hand its state to the search's checkpoint."""
        ...


class Part(Checkpoint):
    """The part of one search in the checkpoint of several: kept in memory, written by Training."""

    def __init__(self) -> None:
        """There is nothing yet."""
        super().__init__(Path(), "")
        self.collecting = False
        self.kept: tuple[dict[str, Any], Arrays] | None = None

    @property
    def due(self) -> bool:
        """When Training asks for it."""
        return self.collecting

    def save(self, own: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep both."""
        self.kept = dict(own), dict(arrays)

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """What was kept, perhaps by a process before this one."""
        self.taken_up = self.kept is not None
        return self.kept


@dataclass
class Training:
    """The searches of several graphs, and one checkpoint for all of them.

    Their planner calls :meth:`checkpoint` when each has made a step; a training that goes on from
    there goes on bit for bit.
    """

    searches: Sequence[Search]
    seed: int
    saved: Checkpoint | None = None

    def __post_init__(self) -> None:
        """Give each search its part of what was saved, if anything was."""
        self.rng = np.random.default_rng(self.seed)
        self._parts = [Part() for _ in self.searches]
        found = None if self.saved is None else self.saved.load()
        for i, (search, part) in enumerate(zip(self.searches, self._parts, strict=True)):
            search.saved = part
            if found is not None:
                own, arrays = found
                part.kept = own["searches"][i], _below(f"{i}/", arrays)

    @property
    def taken_up(self) -> bool:
        """Whether it goes on from a checkpoint."""
        return self.saved is not None and self.saved.taken_up

    def checkpoint(self, steps: Sequence[Saving]) -> None:
        """Save all searches, when it is time to; ``steps`` are what makes the steps of each."""
        if self.saved is None or not self.saved.due:
            return
        for part, step in zip(self._parts, steps, strict=True):
            part.collecting = True
            step.save()
            part.collecting = False
        kept = [part.kept for part in self._parts if part.kept is not None]
        arrays = {
            f"{i}/{name}": array for i, (_, some) in enumerate(kept) for name, array in some.items()
        }
        elapsed = max(search.elapsed for search in self.searches)
        self.saved.save({"searches": [own for own, _ in kept], "elapsed": elapsed}, arrays)


def _below(prefix: str, arrays: Arrays) -> Arrays:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
