"""When a difference between two commits counts."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace
from math import inf

from suite.bench.cell import Cell
from suite.core.errors import InputError
from suite.core.statistics import Interval, median_interval, ratio_estimate, ratio_interval
from suite.gate.groups import (
    groups,
    one_a_seed,
    settings_note,
    step_times,
    why_lost,
    why_unmeasured,
)
from suite.gate.runs import Runs
from suite.gate.verdict import (
    EQUAL,
    EXACT,
    FASTER,
    LEARNED,
    MISSING,
    NEW,
    SLOWER,
    UNJUDGED,
    UNMEASURED,
    WITHIN,
    Verdict,
)

Pairs = list[tuple[float, float]]
"""Step times in seconds (base, head) of the same seed and round."""


@dataclass(frozen=True)
class Rule:
    """How base and head are compared."""

    tolerance: float = 0.02
    """Share by which the median may change without being called slower or faster."""
    least: int = 3
    """Seeds or rounds on each side below which a difference is not judged."""

    def __post_init__(self) -> None:
        """Refuse what cannot be a rule."""
        if not 0 <= self.tolerance < 1:
            raise InputError(f"tolerance is {self.tolerance}; give a share such as 0.02")
        if self.least < 2:
            raise InputError(f"least is {self.least}; one sample has no spread, give >= 2")

    def compare(self, base: Runs, head: Runs) -> list[Verdict]:
        """One verdict a cell, or a group of seeds that are compared together; sorted by name."""
        return [
            self._judge(name, kind, cells, base, head)
            for (name, kind), cells in groups(base, head).items()
        ]

    def _judge(self, name: str, kind: str, cells: list[Cell], base: Runs, head: Runs) -> Verdict:
        theirs, ours = step_times(base, cells), step_times(head, cells)
        blank = Verdict(name, kind, UNMEASURED, samples=len(theirs))
        if not theirs:
            known = any(cell in base for cell in cells)
            if ours and not known:
                return replace(blank, word=NEW)
            return replace(blank, note=why_unmeasured(cells, base if known else head))
        lost = [key for key in theirs if key not in ours]
        if lost:
            return replace(blank, word=MISSING, note=why_lost(lost[0], head))
        keys = one_a_seed(theirs) if kind == LEARNED else theirs
        pairs = [(theirs[key], ours[key]) for key in keys]
        filled = _filled(blank, pairs, settings_note(cells, base, head))
        if kind == EXACT:
            return _exact(filled, pairs)
        if kind == LEARNED and all(base == head for base, head in pairs):
            return replace(filled, word=EQUAL)
        if len(pairs) < self.least:
            needed = "seeds" if kind == LEARNED else "interleaved rounds"
            return replace(filled, word=UNJUDGED, note=f"needs {self.least} {needed}")
        return self._sampled(filled, pairs)

    def _sampled(self, filled: Verdict, pairs: Pairs) -> Verdict:
        if filled.kind == LEARNED:
            base, head = zip(*pairs, strict=True)
            ratio, interval = ratio_estimate(head, base), ratio_interval(head, base)
        else:
            # Round by round: a machine drifts more between rounds than within one.
            ratios = [_ratio(*pair) for pair in pairs]
            ratio, interval = statistics.median(ratios), median_interval(ratios)
        word = self.word(ratio, interval)
        return replace(filled, ratio=ratio, interval=interval, word=word)

    def word(self, ratio: float, interval: Interval) -> str:
        """``slower`` when ``ratio`` exceeds the tolerance and ``interval`` leaves out 1; likewise
        ``faster``; otherwise ``within noise``."""
        if interval.low > 1 and ratio > 1 + self.tolerance:
            return SLOWER
        if interval.high < 1 and ratio < 1 / (1 + self.tolerance):
            return FASTER
        return WITHIN


def _exact(filled: Verdict, pairs: Pairs) -> Verdict:
    """The smallest loss counts, here where nothing is left to chance."""
    worst = max((_ratio(*pair) for pair in pairs), key=lambda r: (r > 1, abs(r - 1)))
    word = EQUAL if worst == 1 else SLOWER if worst > 1 else FASTER
    return replace(filled, ratio=worst, word=word)


def _filled(blank: Verdict, pairs: Pairs, note: str) -> Verdict:
    base, head = (statistics.median(times) for times in zip(*pairs, strict=True))
    filled = replace(blank, base=base, head=head, ratio=_ratio(base, head))
    return replace(filled, samples=len(pairs), note=note)


def _ratio(base: float, head: float) -> float:
    """Head / base; a graph without work takes no time at all."""
    if base:
        return head / base
    return inf if head else 1.0
