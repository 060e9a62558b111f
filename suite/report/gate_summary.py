"""The gate's verdicts as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from suite.core.statistics import LEVEL
from suite.gate.verdict import EQUAL, EXACT, NEW, NOTHING, UNMEASURED, WITHIN, Verdict, outcome
from suite.report.table import Section

_QUIET = (EQUAL, WITHIN, NEW, UNMEASURED)
"""Counted, not listed; what was not measured is listed where nothing was, since it says why."""
_HEADER = (
    *("cell", "compared", "verdict", "base s", "head s"),
    *("change", "interval", "n", "level", "why"),
)
_RANGE = f"Range: of all ratios, as there are too few samples for an interval at {LEVEL:.0%}."


def summary(verdicts: Sequence[Verdict]) -> str:
    """A heading with the verdict, the counts, and a table of every cell that is not as it was."""
    counts = Counter(verdict.word for verdict in verdicts)
    red = outcome(verdicts)
    words = ", ".join(red) or "green"
    quiet = set(_QUIET) - ({UNMEASURED} if NOTHING in red else set())
    counted = ", ".join(f"{n} {word}" for word, n in sorted(counts.items())) or "no records"
    rows = tuple(_row(v) for v in sorted(verdicts, key=_order) if v.word not in quiet)
    parts = [f"## Gate: {words}", f"{counted}."]
    if rows:
        parts.append(Section("", _HEADER, rows).markdown())
    if any(v.interval.is_range for v in verdicts if v.word not in quiet):
        parts.append(_RANGE)
    return "\n\n".join(parts) + "\n"


def _order(verdict: Verdict) -> tuple[bool, float, str]:
    """What has no number first, then the greatest loss."""
    known = verdict.ratio == verdict.ratio
    return known, -verdict.ratio if known else 0.0, verdict.name


def _row(verdict: Verdict) -> tuple[str, ...]:
    start = (verdict.name, verdict.kind, verdict.word)
    if verdict.ratio != verdict.ratio:
        return (*start, "", "", "", "", str(verdict.samples), "", verdict.note)
    low, high, level = verdict.interval
    sure = "range" if verdict.interval.is_range else f"{level:.1%}" if level == level else ""
    spread = f"{_change(low)} to {_change(high)}" if low == low else ""
    times = f"{verdict.base:.6g}", f"{verdict.head:.6g}"
    change = _change(verdict.ratio, verdict.kind == EXACT)
    return (*start, *times, change, spread, str(verdict.samples), sure, verdict.note)


def _change(ratio: float, exact: bool = False) -> str:
    share = 100 * (ratio - 1)
    return f"{share:+.3g} %" if exact else f"{share:+.1f} %"
