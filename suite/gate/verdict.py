"""What became of a cell between two commits, and what that means for the gate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

from suite.core.statistics import NO_INTERVAL, Interval

SLOWER, MISSING, NOTHING = "slower", "missing", "nothing measured"
EXIT_CODES = {SLOWER: 3, MISSING: 4, NOTHING: 5}
"""The three reds; 0 is green, 1 a crash, 2 bad input."""

EQUAL, WITHIN, FASTER = "equal", "within noise", "faster"
NEW, UNMEASURED, UNJUDGED, UNCONFIRMED = "new", "not measured", "not judged", "not confirmed"
_COMPARED = (EQUAL, WITHIN, FASTER, SLOWER, UNCONFIRMED)

EXACT, LEARNED, MEASURED = "exact", "learned", "measured"


@dataclass(frozen=True)
class Verdict:
    """One row of the gate's table."""

    name: str
    """The cell, or the cells without their seed where seeds are compared together."""
    kind: str
    """``exact``, ``learned``, ``measured``: how it was compared."""
    word: str
    """One of the words above."""
    base: float = nan
    """Median step time in seconds."""
    head: float = nan
    """Median step time in seconds."""
    ratio: float = nan
    """Head / base as compared."""
    interval: Interval = NO_INTERVAL
    """Of the ratio; not a number where equality decides."""
    samples: int = 0
    """Seeds or rounds on each side."""
    note: str = ""
    """Why, where the numbers do not say it."""


def outcome(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """The red words that apply, gravest first; empty when the gate is green."""
    words = {verdict.word for verdict in verdicts}
    if not words & set(_COMPARED):
        words.add(NOTHING)
    return tuple(word for word in (NOTHING, SLOWER, MISSING) if word in words)


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """0, or the code of the gravest red."""
    return next((EXIT_CODES[word] for word in outcome(verdicts)), 0)


def confirmed(verdict: Verdict, again: Sequence[Verdict]) -> Verdict:
    """``verdict``, or ``not confirmed`` where a second run of its cell has times and disagrees."""
    second = next((v for v in again if v.name == verdict.name), None)
    if second is None or second.word not in (EQUAL, WITHIN, FASTER):
        return verdict
    return replace(verdict, word=UNCONFIRMED, note=f"the second run: {second.word}")
