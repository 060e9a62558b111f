"""What a search tells while it runs: a CSV, TensorBoard, and a live line."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from suite.formats.atomic import atomic


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    step: int
    seconds: float
    evaluations: int
    best: float
    """Seconds of the best step so far; infinite before one fits in memory."""
    left: float | None
    """Seconds until the budget is spent; None when unknown."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    steps: int | None = None
    """How many there are at most; None when unknown."""

    def line(self) -> str:
        """One line for people."""
        speed = self.evaluations / self.seconds if self.seconds else 0.0
        best = f"best {self.best:.4f} s" if isfinite(self.best) else "nothing fits yet"
        of = "" if self.steps is None else f" of {self.steps}"
        words = [f"update {self.step}{of}", best]
        words += [f"{k} {self.scalars[k]:.3f}" for k in ("reward", "entropy") if k in self.scalars]
        words.append(f"{speed:.0f} placements/s")
        if self.left is not None:
            words.append(f"{self.left:.0f} s left")
        return ", ".join(words)

    def within(self, steps: int) -> Progress:
        """The same of a search that makes so many steps at most, and may end by them."""
        lefts = [self.left] if self.left is not None else []
        if self.step > 0:
            lefts.append(max(0, steps - self.step) * self.seconds / self.step)
        return replace(self, steps=steps, left=min(lefts, default=None))


def most_steps(placer: object) -> int | None:
    """How many steps a placer logs at most: its parameter ``updates`` or ``episodes``, if any."""
    asked = getattr(placer, "updates", getattr(placer, "episodes", None))
    return asked if isinstance(asked, int) else None


Listener = Callable[[Progress], None]


@dataclass
class Journal:
    """Writes every step of one search."""

    path: Path | None = None
    """The CSV; None: none."""
    board: Path | None = None
    """Folder of TensorBoard event files; None: none."""
    listener: Listener | None = None
    steps: int | None = None
    """How many steps there will be at most; None: unknown."""

    def __post_init__(self) -> None:
        """Nothing is open before the first step."""
        self._columns: list[str] | None = None
        self._board: Any = None
        self.empty = True
        """Whether no step has been added."""

    def resume(self, step: int | None) -> None:
        """Forget what was written after ``step``; None: all of it, as of a search begun anew."""
        self._columns = None
        self.close()
        if self.path is None or not self.path.exists():
            return
        head, kept = self._until(self.path, step) if step is not None else ([], [])
        if not kept:
            self.path.unlink()
            return
        with (
            atomic(self.path) as temporary,
            temporary.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file, lineterminator="\n").writerows([head, *kept])
        self._columns = head

    @staticmethod
    def _until(path: Path, step: int) -> tuple[list[str], list[list[str]]]:
        """Head and rows up to a step; none, with a warning, where that cannot be read."""
        try:
            with path.open(newline="", encoding="utf-8") as file:
                head, *rows = list(csv.reader(file)) or [[]]
            # The last row is cut short where the process was killed in the middle of writing it.
            whole = [row for row in rows if len(row) == len(head)]
            return head, [row for row in whole if int(row[0]) <= step]
        except (ValueError, csv.Error) as error:
            warnings.warn(f"{path} is damaged ({error}); it begins anew", stacklevel=2)
            return [], []

    def add(self, progress: Progress) -> None:
        """Write one step; a scalar that was not there in the first step is left out of the CSV."""
        self.empty = False
        if self.listener is not None:
            self.listener(progress if self.steps is None else progress.within(self.steps))
        if self.path is not None:
            self._add_row(self.path, progress)
        if self.board is not None:
            self._add_event(self.board, progress)

    def _add_row(self, path: Path, progress: Progress) -> None:
        values = {
            "step": progress.step,
            "evaluations": progress.evaluations,
            "seconds": round(progress.seconds, 3),
            "best": progress.best,
            **{name: float(f"{value:.6g}") for name, value in progress.scalars.items()},
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._columns is None
        if self._columns is None:
            self._columns = list(values)
        with path.open("w" if fresh else "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self._columns, extrasaction="ignore", lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(values)

    def _add_event(self, folder: Path, progress: Progress) -> None:
        from suite.search.tensorboard import Board

        if self._board is None:
            self._board = Board(folder, progress.step)
        best = {"best": progress.best} if isfinite(progress.best) else {}
        self._board.add(progress.step, {**best, **progress.scalars})

    def close(self) -> None:
        """Write what is held back; the next step opens everything again."""
        if self._board is not None:
            self._board.close()
            self._board = None
