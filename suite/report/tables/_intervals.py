"""What the ranges and intervals of a table are, and how sure, in words."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from suite.core.statistics import LEVEL, median_level
from suite.report.comparison import Comparison


def seed_intervals(comparison: Comparison, *placers: str) -> str:
    """What the square brackets of the learned ``placers`` hold, and how surely."""
    counts = [len(comparison.ours(row, p).values) for row in comparison.rows for p in placers]
    text = "its range or, of six seeds or more, its interval; none of one seed."
    return " ".join([text, *_levels(counts, "seeds")])


def step_intervals(rows: pd.DataFrame) -> list[str]:
    """What the measured intervals of ``rows`` (with ``steps``) are, and how sure."""
    counts = [int(n) for n in rows[rows["status"] == "ok"]["steps"]]
    text = "A measured interval is, of fewer than six steps, their range."
    return [" ".join([text, *_levels(counts, "steps")])] * bool(counts)


def _levels(counts: Iterable[int], things: str) -> list[str]:
    """A sentence on ranges and one on intervals of so many ``things``, where there are any."""
    ranges: list[str] = []
    intervals: list[str] = []
    for n in sorted({n for n in counts if n > 1}):
        level = median_level(n)
        (intervals if level >= LEVEL else ranges).append(f"{level:.1%} (n={n})")
    sentences = []
    if ranges:
        sentences.append(
            f"The range of fewer than six {things} contains the true median in"
            f" {', '.join(ranges)} of cases."
        )
    if intervals:
        sentences.append(
            f"The interval of six {things} or more, between two of their values, contains the true"
            f" median, whatever its distribution, in {', '.join(intervals)} of cases."
        )
    return sentences
