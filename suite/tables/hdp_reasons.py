"""Why the Hierarchical Planner learns or does not: one choice changed at a time (our ablation)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from suite.grid import load_grid
from suite.metrics import metric
from suite.outcome import Outcome
from suite.table import Section, Table

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
    "groups used",
)

TITLE = "Why the Hierarchical Planner learns"
LEAD = """\
HDP on the 2-layer NMT with settings changed, 500 evaluated placements per seed. The paper gives
neither the scale of its embeddings nor the start of its baseline; `paper` has those of the choices
here under which it learns. Seconds of one training step over seeds, lower is better; at which
evaluated placement the best was found; share of placements that ran out of memory; groups in use
when the best was found (medians)."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of the grid ``hdp_reasons``."""
    cells = [job.cell for job in load_grid(GRID).jobs]
    ours = records[records["grid"] == GRID]
    seeds = {label: sum(c.placer == label for c in cells) for label in WHAT}
    rows = tuple(_row(label, ours[ours["placer"] == label], seeds[label]) for label in WHAT)
    data = ours[["task", "placer", "seed", "status", "step_time", "evaluations"]]
    return Table(
        TITLE,
        LEAD,
        (Section("One choice at a time", HEADER, rows),),
        (f"{len(ours)} of {len(cells)} records are there.",),
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
    return (
        WHAT[label],
        *(SECONDS.format(t) for t in times),
        f"{np.median(found):.0f}" if found else "-",
        f"{100 * np.median(invalid):.0f} %",
        f"{np.median(groups):.0f}" if groups else "-",
    )
