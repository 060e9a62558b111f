"""Why the Hierarchical Planner learns or does not: one choice changed at a time (our ablation)."""

from __future__ import annotations

from math import nan

import numpy as np
import pandas as pd

from suite.bench.grid import load_grid
from suite.report.metrics import metric
from suite.report.outcome import Outcome
from suite.report.table import Section, Table
from suite.report.tables._notes import code_note

GRID = "hdp_reasons"
SECONDS = metric("step_time")
WHAT = {
    "paper": "`paper`, as in Table 1",
    "baseline_failing": "+ baseline starts at -10 (released code), not at the first mean",
    "embeddings_row_max": "+ group embeddings over the row's maximum + 1 (released code)",
    "embeddings_raw": "+ raw embeddings of operations and groups",
    "rate_0_001": "+ Adam at 0.001, not 0.1",
    "rate_overload": "+ Adam at 0.001; out of memory costs by what is missing, not -10",
    "rate_overload_batch": "+ both; advantages within the update, each network clipped alone",
    "rate_overload_batch_metis": "+ all three; 48 groups that start as METIS' partition",
    "rate_overload_batch_metis_table": "+ all four; a table of logits beside the network's",
    "tuned": "`tuned`: all five; imitates the best, C = 4, no noise",
}
"""Label in the grid -> what is changed."""
HEADER = (
    *("settings", "best", "median", "worst", "best at evaluation", "out of memory"),
    *("groups used", "diverged"),
)

PAPER = "paper"
"""The grid with the paper's 1,000 updates."""
MARKS = (1000, 2000, 4000)
"""Evaluated placements at which its best so far is shown."""

TITLE = "Why the Hierarchical Planner learns"
LEAD = """\
HDP on the 2-layer NMT with settings changed, 500 evaluated placements per seed. The paper gives
neither the scale of its embeddings nor the start of its baseline; `paper` has those of the choices
here under which it learns. Seconds of one training step over seeds, lower is better; at which
evaluated placement the best was found; share of placements that ran out of memory; groups in use
when the best was found (medians); seeds whose gradient overflowed, which ends a search."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``hdp_reasons``."""
    cells = [job.cell for name in (GRID, PAPER) for job in load_grid(name).jobs]
    ours = records[records["grid"].isin([GRID, PAPER])]
    reasons = records[records["grid"] == GRID]
    seeds = {label: sum((c.grid, c.placer) == (GRID, label) for c in cells) for label in WHAT}
    rows = tuple(_row(label, reasons[reasons["placer"] == label], seeds[label]) for label in WHAT)
    data = ours[["grid", "task", "placer", "seed", "status", "step_time", "evaluations"]]
    return Table(
        TITLE,
        LEAD,
        (Section("One choice at a time", HEADER, rows), _budgets(records)),
        (f"{len(ours)} of {len(cells)} records are there.", *code_note(ours)),
        data.rename(columns={"placer": "settings"}),
        len(cells),
        len(ours),
    )


def _row(label: str, records: pd.DataFrame, expected: int) -> tuple[str, ...]:
    outcome = Outcome.of(records, expected)
    if not outcome.values:
        return (WHAT[label], outcome.text(SECONDS), *[""] * (len(HEADER) - 2))
    times = (outcome.values[0], outcome.median, outcome.values[-1])
    found = [history[-1][0] for history in records["history"] if history]
    invalid = [p.get("invalid", 0) for p in records["planner"]] / records["evaluations"]
    groups = [p["groups_used"] for p in records["planner"] if "groups_used" in p]
    diverged = sum("diverged" in p for p in records["planner"])
    return (
        WHAT[label],
        *(SECONDS.format(t) for t in times),
        f"{np.median(found):.0f}" if found else "-",
        f"{100 * np.median(invalid):.0f} %",
        f"{np.median(groups):.0f}" if groups else "-",
        f"{diverged} of {len(records)}",
    )


def _budgets(records: pd.DataFrame) -> Section:
    """What more updates bring: the best so far along the runs of the paper's length."""
    whole = records[records["grid"] == PAPER]
    rows = []
    for _, record in whole.iterrows():
        best = [min((t for n, _, t in record["history"] if n <= m), default=nan) for m in MARKS]
        times = [SECONDS.format(t) if t == t else "-" for t in best]
        rows.append((record["task"], record["placer"], *times))
    lead = (
        "Seconds of the best placement after so many evaluated ones; 1,000 updates of 4, one seed."
    )
    header = ("task", "placer", *(f"after {mark:,}" for mark in MARKS))
    return Section("What a smaller budget loses", header, tuple(rows), lead)
