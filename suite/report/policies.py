"""What the policies behind records were trained on, and whether on the graph that they place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from suite.report.comparison import Comparison
from suite.report.table import Section

SEEN = " (trained on it)"
"""Behind a cell whose policy was trained on the very graph."""


def seen_mark(records: pd.DataFrame) -> str:
    """SEEN where one of the records has a policy that was trained on its own graph; else empty."""
    return SEEN * any(policy.get("seen", False) for policy in records["policy"])


def seen_note(records: pd.DataFrame) -> list[str]:
    """Which cells have such policies, in words; nothing where none has."""
    seen = [bool(policy.get("seen", False)) for policy in records["policy"]]
    rows = records[pd.Series(seen, records.index, dtype=bool)]
    names = sorted({f"{t} / {p}" for t, p in zip(rows["task"], rows["placer"], strict=True)})
    if not names:
        return []
    return [f"**Judged on a graph that the policy was trained on**: {', '.join(names)}."]


def policies_section(
    comparison: Comparison, heads: Mapping[str, str], title: str = "The policies"
) -> tuple[Section, ...]:
    """The policy behind every cell of some placers; nothing where there is none yet."""
    rows = []
    for row in comparison.rows:
        for placer, head in heads.items():
            found = comparison.of_cell(row, placer)["policy"]
            known = {policy["digest"]: policy for policy in found if policy}
            rows += [(row.label, head, *_described(policy)) for policy in known.values()]
    header = ("Model", "column", "policy", "trained on", "placements of each", "this graph")
    return (Section(title, header, tuple(rows)),) if rows else ()


def _described(policy: Mapping[str, Any]) -> tuple[str, ...]:
    lessons = policy["trained_on"]
    names = ", ".join(f"{one['task']} ({one['gpus']})" for one in lessons)
    counts = sorted({f"{one['evaluations']:,}" for one in lessons})
    where = "**one of them**" if policy["seen"] else "none of them"
    return policy["digest"], names, ", ".join(counts), where
