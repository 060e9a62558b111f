"""Why the Hierarchical Planner learns or does not: one choice changed at a time (our ablation)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.metrics import metric
from suite.report.outcome import JUDGED, Outcome
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note

GRID = "hdp_reasons"
SECONDS = metric("step_time")
WHAT = {
    "paper": "`paper`, as in Table 1",
    "literal": "+ Adam's epsilon 1e-8 (TensorFlow's default), not 0.1",
    "c_1": "+ Adam's epsilon 1e-8 and C = 1 (released code), not 5",
    "clip_common": "+ both networks' gradients clipped by their common norm",
    "baseline_failing": "+ baseline starts at -10 (released code), not at the first mean",
    "embeddings_row_max": "+ group embeddings over the row's maximum + 1 (released code)",
    "embeddings_raw": "+ raw embeddings of operations and groups",
    "rate_0_001": "+ Adam's epsilon 1e-8 and rate 0.001, not 0.1",
    "rate_overload": "+ the same; out of memory costs by what is missing, and counts to the end",
    "rate_overload_batch": "+ both; advantages within the update",
    "rate_overload_batch_metis": "+ all three; 32 groups that start as METIS' partition",
    "rate_overload_batch_structure": "+ all three; 32 groups that start as the graph's structure",
    "rate_overload_batch_structure_table": "+ all four; a table of logits beside the network's",
    "rate_overload_batch_structure_table_start": "+ all five; fast devices have a head start in it",
    "tuned": "`tuned`: all six; imitates the best, starts anew near it, C = 4, no noise",
}
"""Label in the grid -> what is changed."""
HEADER = (
    *("settings", "best", "median", "worst", "best at evaluation", "out of memory"),
    *("groups used", "diverged"),
)

PRINTED = "hdp_reasons_tf13"
"""The grid on ResNet, whose answer the paper's Table 2 gives."""
PRINTED_WHAT = {
    f"{prefix}{label}": f"{who}, {what}"
    for prefix, who in (("random_", "random groups"), ("", "Grouper and Placer"))
    for label, what in (
        ("paper", "C = 5, epsilon 0.1: `paper`"),
        ("literal", "C = 5, epsilon 1e-8"),
        ("c_1", "C = 1, epsilon 1e-8"),
    )
}
CURVE = (10, 50, 250)
"""Policy updates at which a learning curve is shown."""

PAPERS = ("paper", "paper_tf13")
"""The grids with the paper's 1,000 updates."""
GRIDS = (GRID, PRINTED, *PAPERS)
MARKS = (1000, 2000, 4000)
"""Evaluated placements at which its best so far is shown."""

TITLE = "Why the Hierarchical Planner learns"
LEAD = """\
What the Hierarchical Planner's settings are worth, a choice at a time. The paper gives neither
Adam's epsilon, nor whose norm its gradients are clipped by, nor the scale of its embeddings, nor
the start of its baseline; `paper` has those of the choices here under which it learns, and the
numbers that are printed. Seconds of one training step, lower is better."""
CHOICES_LEAD = """\
500 evaluated placements a seed; at which of them the best was found, the share that ran out of
memory, the groups in use when the best was found (medians); seeds whose gradient overflowed, which
ends a search. From `+ the same` on, each row adds to the one before."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``hdp_reasons``."""
    cells = [cell for name in GRIDS for cell in planned_cells(name)]
    ours = records[records["grid"].isin(GRIDS)]
    reasons = records[records["grid"] == GRID]
    seeds = {label: sum((c.grid, c.placer) == (GRID, label) for c in cells) for label in WHAT}
    rows = tuple(_row(label, reasons[reasons["placer"] == label], seeds[label]) for label in WHAT)
    data = ours[["grid", "task", "placer", "seed", "status", "step_time", "evaluations"]]
    return Table(
        TITLE,
        LEAD,
        (
            _printed_numbers(records[records["grid"] == PRINTED]),
            Section("One choice at a time, 2-layer NMT on `k40`", HEADER, rows, CHOICES_LEAD),
            _budgets(records),
        ),
        (f"{len(ours)} of {len(cells)} records are there.", *code_note(ours)),
        data.rename(columns={"placer": "settings"}),
        len(cells),
        len(ours),
    )


def _printed_numbers(records: pd.DataFrame) -> Section:
    """What is left of a policy after some updates, where it should end on a single GPU."""
    rows = []
    for label, what in PRINTED_WHAT.items():
        mine = records[records["placer"] == label]
        outcome = Outcome.of(mine, 0)
        paths = [Path(path).with_suffix(".csv") for path in mine["path"]]
        logs = [pd.read_csv(path) for path in paths if path.exists()]
        nothing = "no log" if paths else ""
        cells = [_at(logs, update) if logs else nothing for update in CURVE]
        rows.append((what, outcome.text(SECONDS), *cells))
    lead = (
        "ResNet on `k40_tf13`, 1,000 evaluated placements a seed. Whatever the groups, the "
        "paper's Placer ends on a single GPU (1.18 s in Table 2, ten groupings of ten; all on "
        "the CPU takes 30 s here). Best placement found; then, medians over seeds, seconds of "
        "an update's placements as the mean reward tells them, entropy of a device's choice (ln "
        "3 = 1.10: undecided between three) and norm of the gradient. With 256 groups in use, C "
        "= 1 never draws all on one GPU: each choice has a chance of at most 0.79, and drawing "
        "it 256 times in one of 4,000 placements needs 0.97, so C >= 2.1."
    )
    heads = tuple(f"update {update}: s / entropy / norm" for update in CURVE)
    return Section(
        "Which settings the paper can have used", ("settings", "best", *heads), (*rows,), lead
    )


def _at(logs: list[pd.DataFrame], update: int) -> str:
    """Seconds, entropy and gradient norm at an update, medians over searches."""
    there = pd.concat([log[log["step"] == update] for log in logs])
    if there.empty:
        return "-"
    seconds, entropy, norm = (
        float(there[name].median()) for name in ("reward", "entropy", "gradient_norm")
    )
    return f"{SECONDS.format(seconds**2)} / {entropy:.2f} / {norm:.1e}"


def _row(label: str, records: pd.DataFrame, expected: int) -> tuple[str, ...]:
    outcome = Outcome.of(records, expected)
    if not outcome.values:
        return (WHAT[label], outcome.text(SECONDS), *[""] * (len(HEADER) - 2))
    times = (outcome.values[0], outcome.median, outcome.values[-1])
    ended = records[records["status"].isin(JUDGED)]  # others say nothing of the search
    found = [history[-1][0] for history in ended["history"] if history]
    invalid = [p.get("invalid", 0) for p in ended["planner"]] / ended["evaluations"]
    groups = [p["groups_used"] for p in ended["planner"] if "groups_used" in p]
    diverged = sum("diverged" in p for p in ended["planner"])
    return (
        WHAT[label] + f" ({outcome.counts})" * bool(outcome.failures),
        *(SECONDS.format(t) for t in times),
        f"{np.median(found):.0f}" if found else "-",
        f"{100 * np.median(invalid):.0f} %",
        f"{np.median(groups):.0f}" if groups else "-",
        f"{diverged} of {len(ended)}",
    )


def _budgets(records: pd.DataFrame) -> Section:
    """What more updates bring: the best so far along the runs of the paper's length."""
    whole = records[records["grid"].isin(PAPERS) & records["status"].isin(JUDGED)]
    rows = []
    for (task, placer), some in whole.groupby(["task", "placer"], sort=False):
        best = [[_best_until(history, mark) for history in some["history"]] for mark in MARKS]
        times = [
            SECONDS.format(median(found)) if isfinite(median(found)) else "-" for found in best
        ]
        rows.append((str(task), str(placer), str(len(some)), *times))
    lead = (
        "Seconds of the best placement after so many evaluated ones, medians over seeds; 1,000"
        " updates of 4. `_tf13`: on `k40_tf13`."
    )
    header = ("task", "placer", "seeds", *(f"after {mark:,}" for mark in MARKS))
    return Section("What a smaller budget loses", header, tuple(rows), lead)


def _best_until(history: Sequence[tuple[int, float, float]], mark: int) -> float:
    """Seconds of the best placement after so many; infinite where none fitted."""
    return min((seconds for count, _, seconds in history if count <= mark), default=inf)
