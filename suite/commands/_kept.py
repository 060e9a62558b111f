"""What ``place`` keeps while it goes on: whatever ends it early, the best that it met is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from suite.core.one_line import say_on_one_line

if TYPE_CHECKING:
    from suite.bench.compare import Answer, Trial

Write = Callable[["Answer"], None]


class Keeper:
    """Writes answers as they come, each in place of the one before."""

    def __init__(self, placer: str, write: Write, files: Sequence[Path]) -> None:
        """Write with ``write``, to ``files``, the answers of ``placer`` unless told otherwise."""
        self.placer, self._write, self._files = placer, write, files
        self.answer: Answer | None = None
        """What was written last."""

    def __call__(self, answer: Answer) -> None:
        """Write an answer; OSError where that cannot be."""
        self._write(answer)
        self.answer = answer

    def take(self, trial: Trial) -> None:
        """Write the answer of another placer where it fits in memory and what is kept is slower."""
        if trial.answer is None or trial.answer.result.oom.any():
            return
        kept = None if self.answer is None else self.answer.result
        if kept is None or kept.oom.any() or trial.answer.result.step_time < kept.step_time:
            self(trial.answer)
            self.placer = trial.placer

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Where an exception ends what is done within, say what is kept; then it goes on."""
        try:
            yield
        except BaseException:
            if self.answer is not None and self._files:
                say_on_one_line(self._told(self.answer))
            raise

    def _told(self, answer: Answer) -> str:
        files = " and ".join(map(str, self._files))
        spent = f" after {answer.evaluations:,} evaluations" if answer.evaluations else ""
        full = ", which does not fit in memory" if answer.result.oom.any() else ""
        seconds = f"{answer.result.step_time:.6f} s"
        return f"kept {files}: the best of {self.placer}{spent}, step time {seconds}{full}"
