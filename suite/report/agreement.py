"""How near our seconds come to published ones: the mean factor between them, and their order."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Of the ratios ours / published that are numbers above 0."""

    count: int
    error: float
    """exp(mean |ln ratio|): the mean factor between the two; NaN without a ratio."""
    bias: float
    """exp(mean ln ratio): their geometric mean; NaN without a ratio."""


def spread(ratios: Iterable[float]) -> Spread:
    """Summarise ratios ours / published; those that are no number or 0 do not count."""
    logs = [math.log(ratio) for ratio in ratios if ratio > 0]
    if not logs:
        return Spread(0, math.nan, math.nan)
    error = math.exp(sum(map(abs, logs)) / len(logs))
    return Spread(len(logs), error, math.exp(sum(logs) / len(logs)))


def ordered(cells: Iterable[tuple[Hashable, float, float]]) -> tuple[int, int]:
    """Count pairs of one row: (those we order as published, those the paper orders).

    ``cells``: (row, our seconds, published seconds), both above 0.
    """
    rows: dict[Hashable, list[tuple[float, float]]] = {}
    for row, ours, published in cells:
        rows.setdefault(row, []).append((ours, published))
    same = total = 0
    for values in rows.values():
        for i, (a, x) in enumerate(values):
            total += sum(x != y for _, y in values[i + 1 :])
            same += sum((a - b) * (x - y) > 0 for b, y in values[i + 1 :])
    return same, total


def faster(pairs: Iterable[tuple[float, float]]) -> tuple[int, int]:
    """Count pairs of seconds: (those whose first is less, those where neither is NaN)."""
    known = [(ours, other) for ours, other in pairs if ours == ours and other == other]
    return sum(ours < other for ours, other in known), len(known)
