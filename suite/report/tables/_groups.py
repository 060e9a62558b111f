"""How many groups a planner ends up using of those it may use."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TypedDict

from suite.report.comparison import Comparison
from suite.report.outcome import word
from suite.report.table import Section


class Facts(TypedDict, total=False):
    """What a record says of its planner's groups."""

    groups: int
    groups_used: int
    groups_used_history: list[tuple[int, int]]
    """(Update, groups in use)."""


def groups_section(comparison: Comparison, heads: Mapping[str, str]) -> Section:
    """Groups in use where the best placement was drawn; ``heads`` maps placers to column heads."""
    rows = []
    for row in comparison.rows:
        cells = []
        for placer in heads:
            facts = [facts for facts in comparison.of_cell(row, placer)["planner"] if facts]
            missing = word(comparison.ours(row, placer).status)
            cells.append(_used(facts) if facts else "-" if missing == "ok" else missing)
        rows.append((row.label, *cells))
    return Section(
        "Groups the Grouper ends up using",
        ("Tasks", *heads.values()),
        tuple(rows),
        "Groups with at least one operation when the best placement was drawn, of those offered:"
        " median over seeds [smallest-largest]. In brackets, where the records tell: groups in use"
        " after the first and after the last update that was noted. The paper: near-uniform over"
        " 256 groups at first, then a small subset of them.",
    )


def _used(facts: Sequence[Facts]) -> str:
    used = [int(fact["groups_used"]) for fact in facts if "groups_used" in fact]
    offered = sorted({int(fact["groups"]) for fact in facts if "groups" in fact})
    limit = ", ".join(str(n) for n in offered) or "-"
    histories = [fact["groups_used_history"] for fact in facts if fact.get("groups_used_history")]
    course = ""
    if histories:
        first, last = ([h[at] for h in histories] for at in (0, -1))
        course = f" ({_noted(first)}, {_noted(last)})"
    return f"{_spread(used)} of {limit}{course}"


def _noted(pairs: Sequence[tuple[int, int]]) -> str:
    """Groups in use, and after which update: medians over seeds."""
    updates, used = zip(*pairs, strict=True)
    return f"{_median(used)} after {_median(updates)}"


def _spread(counts: Sequence[int]) -> str:
    if not counts:
        return "unknown"
    spread = f" [{min(counts)}-{max(counts)}]" if len(counts) > 1 else ""
    return f"{_median(counts)}{spread}"


def _median(counts: Sequence[int]) -> str:
    return f"{statistics.median(counts):g}"
