"""Where a search that was stopped goes on: its arrays and its own counters, in one file."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from suite.formats.atomic import atomic

Arrays = dict[str, NDArray[Any]]
_OWN = "search"
_BESIDE = "beside/"
INTERVAL = 20.0
"""Seconds from one save to the next, unless told otherwise."""


def aside(path: Path) -> Path:
    """Where a checkpoint at ``path`` is kept that does not seem to work."""
    return path.with_name(f"bad-{path.name}")


class Memory(Protocol):
    """What is kept beside a search and goes on with it."""

    def arrays(self) -> Arrays:
        """All of it, by names that nothing else beside that search uses."""
        ...

    def take(self, arrays: Arrays) -> None:
        """Be what :meth:`arrays` gave; there may be others among them."""
        ...


@dataclass
class Checkpoint:
    """The checkpoint file of one search."""

    path: Path
    identity: str
    """Fingerprint and code of the job; a checkpoint of another one is not taken up."""
    interval: float = INTERVAL
    """Seconds from one save to the next; 0: always."""
    memories: Sequence[Memory] = ()
    """What is saved and restored with the search, of which neither it nor its placer know."""

    def __post_init__(self) -> None:
        """Start the clock."""
        self._saved = time.monotonic()
        self.taken_up = False
        """Whether a search went on from it."""

    @property
    def due(self) -> bool:
        """Whether it is time to save."""
        return time.monotonic() - self._saved >= self.interval

    def save(self, own: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write both, whole or not at all; ``own`` must be fit for JSON.

        TypeError for an array of Python objects, which could be written, but not read again.
        """
        for name, array in arrays.items():
            if np.asarray(array).dtype.hasobject:
                raise TypeError(
                    f"a checkpoint's {name!r} holds Python objects; give numbers or text"
                )
        head = json.dumps({"identity": self.identity, **own})
        beside = [item for memory in self.memories for item in memory.arrays().items()]
        kept = {f"{_BESIDE}{name}": array for name, array in beside}
        content: dict[str, Any] = {_OWN: np.array(head), **kept, **arrays}
        with atomic(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, **content)
        self._saved = time.monotonic()

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """Return what was saved; None, with a warning, when it is damaged or another job's.

        OSError where it cannot be read now: a file that may be whole is not to be written over.
        """
        content = self._content()
        if content is None:
            return None
        try:
            with np.load(BytesIO(content), allow_pickle=False) as data:
                arrays = dict(data)
            own = json.loads(str(arrays.pop(_OWN)))
        except Exception as error:
            warnings.warn(f"{self.path} is damaged ({error}); starting afresh", stacklevel=2)
            return None
        if own.pop("identity", None) != self.identity:
            warnings.warn(
                f"{self.path} is of other settings or other code; starting afresh", stacklevel=2
            )
            return None
        beside = [name for name in arrays if name.startswith(_BESIDE)]
        kept = {name.removeprefix(_BESIDE): arrays.pop(name) for name in beside}
        for memory in self.memories:
            memory.take(kept)
        self.taken_up = True
        return own, arrays

    def spent(self) -> float:
        """Seconds that the search had taken when it was saved; 0 where there is nothing usable."""
        own = self._own()
        try:
            return float(own["elapsed"]) if own["identity"] == self.identity else 0.0
        except (KeyError, TypeError, ValueError):
            return 0.0

    @property
    def is_of_another(self) -> bool:
        """Whether there is a whole one of another job: of other settings, or of other code."""
        return self._own().get("identity") not in (None, self.identity)

    def _own(self) -> dict[str, Any]:
        """The search's counters; none where there is no whole file, OSError as of :meth:`load`."""
        content = self._content()
        if content is None:
            return {}
        try:
            with np.load(BytesIO(content), allow_pickle=False) as data:
                return dict(json.loads(str(data[_OWN])))
        except Exception:  # whatever a damaged file makes of its readers; load() warns of it
            return {}

    def _content(self) -> bytes | None:
        """The file's bytes; None where there is none, OSError where they cannot be read now."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None

    def set_aside(self) -> Path:
        """Give the file another name, and return that; a search that begins now begins afresh."""
        self.taken_up = False
        return self.path.replace(aside(self.path))

    def remove(self) -> None:
        """Delete the file; a search that begins now begins afresh."""
        self.taken_up = False
        self.path.unlink(missing_ok=True)
