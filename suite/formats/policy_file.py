"""Policies that were trained: weights and all that says what they are, in one file.

A NumPy archive without pickles: ``head`` is JSON, ``weights/NAME`` are arrays, ``answers/NUMBER``
is the best placement met on each graph that the policy was trained on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suite.core.arrays import digest
from suite.core.errors import InputError
from suite.formats.atomic import atomic
from suite.formats.npz_archive import check_npz

FORMAT = "placebench-policy-1"
_HEAD, _WEIGHTS, _ANSWERS = "head", "weights/", "answers/"


@dataclass(frozen=True)
class Lesson:
    """A graph that a policy was trained on."""

    task: str
    graph: str
    """The graph's fingerprint."""
    machine: str
    """The machine's name."""
    gpus: int
    devices: int
    """Number of devices, CPUs included."""
    devices_fingerprint: str
    """Of the machine with that many GPUs."""
    evaluations: int
    """Placements that were judged of it."""
    best_time: float | None
    """Seconds of the fastest that fits in memory; None where none did."""


@dataclass(frozen=True, eq=False)
class PolicyFile:
    """What a planner learned on several graphs."""

    planner: str
    """The planner that can use it."""
    settings: Mapping[str, Any]
    """The planner's parameters, fit for JSON."""
    vocabulary: tuple[str, ...]
    """The types of operations that it knows."""
    lessons: tuple[Lesson, ...]
    """What it was trained on, one graph an entry."""
    seed: int
    weights: Mapping[str, NDArray[np.float32]]
    answers: tuple[NDArray[np.uint8] | None, ...] = ()
    """uint8[ops]: the placement of each lesson's ``best_time``."""
    code: str = ""
    """Digest of the code that trained it."""
    identity: str = ""
    """Digest of all that decided it: graphs, machines, settings, budget, seed, code."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """Versions, seconds: what differs from run to run, and is not in the digest."""

    @cached_property
    def digest(self) -> str:
        """16 hexadecimal digits of all but the notes."""
        arrays = [part for name in sorted(self.weights) for part in (name, self.weights[name])]
        answers = [part for part in self.answers if part is not None]
        return digest([json.dumps(self._head, sort_keys=True), *arrays, *answers])

    @property
    def _head(self) -> dict[str, Any]:
        names = ("planner", "settings", "seed", "code", "identity")
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in names},
            "vocabulary": list(self.vocabulary),
            "lessons": [asdict(lesson) for lesson in self.lessons],
        }

    @property
    def devices(self) -> tuple[tuple[int, int], ...]:
        """The numbers of CPUs and of GPUs that it was trained with, ascending."""
        return tuple(sorted({(one.devices - one.gpus, one.gpus) for one in self.lessons}))

    def about(self, graph: str, task: str | None) -> dict[str, Any]:
        """What it is to a graph with this fingerprint, for its record: fit for JSON.

        ``seen``: it was trained on that graph, or on one of the same task, whose costs may differ.
        """
        return {
            **{"digest": self.digest, "planner": self.planner},
            **{"seed": self.seed, "code": self.code},
            "trained_on": [asdict(lesson) for lesson in self.lessons],
            "seen": any(graph == one.graph or task == one.task for one in self.lessons),
        }

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        head = self._head | {"notes": dict(self.notes), "digest": self.digest}
        content: dict[str, Any] = {_HEAD: np.array(json.dumps(head))}
        content |= {f"{_WEIGHTS}{name}": array for name, array in self.weights.items()}
        known = ((i, a) for i, a in enumerate(self.answers) if a is not None)
        content |= {f"{_ANSWERS}{i}": answer for i, answer in known}
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **content)

    @classmethod
    def load(cls, path: Path) -> PolicyFile:
        """Read one; InputError where the file is not there, no policy, or not whole."""
        try:
            check_npz(path)
            with np.load(path, allow_pickle=False) as data:
                arrays = dict(data)
            head = json.loads(str(arrays.pop(_HEAD)))
            if head.pop("format") != FORMAT:
                raise ValueError("another format")
            policy, known = cls._of(head, arrays), head["digest"]
        except FileNotFoundError:
            raise InputError(
                f"there is no policy {path}; `placebench train` makes one, see its --help"
            ) from None
        except Exception as error:  # whatever a damaged file makes of its readers
            why = " ".join(str(error).split())
            raise InputError(
                f"{path} is no policy of `placebench train` ({why}); train it again"
            ) from None
        if policy.digest != known:
            raise InputError(f"{path} is damaged: its digest is another one; train it again")
        return policy

    @classmethod
    def _of(cls, head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> PolicyFile:
        lessons = tuple(Lesson(**lesson) for lesson in head["lessons"])
        weights = {k.removeprefix(_WEIGHTS): v for k, v in arrays.items() if k.startswith(_WEIGHTS)}
        return cls(
            planner=head["planner"],
            settings=head["settings"],
            vocabulary=tuple(head["vocabulary"]),
            lessons=lessons,
            seed=head["seed"],
            weights=weights,
            answers=tuple(arrays.get(f"{_ANSWERS}{i}") for i in range(len(lessons))),
            code=head["code"],
            identity=head["identity"],
            notes=head["notes"],
        )
