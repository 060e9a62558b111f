"""Table 2 of HDP (Mirhoseini et al., ICLR 2018) and its prose ablation: what the Grouper brings."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.hdp import TODAY, UPDATES, printed_table
from suite.report.metrics import metric
from suite.report.outcome import Outcome, Printed, word
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import Gain, over_base
from suite.report.tables._groups import groups_section
from suite.report.tables._intervals import seed_intervals
from suite.report.tables._no_grouping import ALONE, no_grouping_section

LEARNED, RANDOM, SIMPLE = "hdp", "hdp_random_grouping", "hdp_no_grouping"
LEARNERS = {
    LEARNED: "Hierarchical Planner",
    RANDOM: "Random grouping",
    SIMPLE: "No grouping",
    "hdp_tuned": "HDP, tuned",
    "hdp_tf_release": "HDP, TF release",
}
GROUPING = {placer: LEARNERS[placer] for placer in (LEARNED, "hdp_tuned", "hdp_tf_release")}
"""Placers with a Grouper."""
PLACERS = ("gpu_only", *LEARNERS)
GRIDS = TODAY.grids
SECONDS = metric("step_time")

TITLE = "HDP, Table 2: the Placer on random groupings, and the planner without groups"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by HDP (Mirhoseini et al., A Hierarchical Model for Device Placement, ICLR 2018,
Table 2) and ours / published. Best, median and worst are over random groupings, one a seed, each
with a Placer trained on it. Machine `k40`, graphs of today's TensorFlow; what of both was fitted to
the paper's Table 1, and what chosen, [its page](hdp_table1.md) says."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    hdp = TODAY.beside(records, printed_table(published, "2"), PLACERS)
    gains = {row: _improvement(hdp, row) for row in hdp.rows}
    sections = (_main(hdp, gains), no_grouping_section(hdp), groups_section(hdp, GROUPING))
    derived = [entry for row in hdp.rows for entry in _entries(hdp, row, gains[row])]
    data = long_form(hdp, PLACERS, derived)
    return Table(TITLE, LEAD, sections, _notes(hdp), data, hdp.expected, hdp.found)


def _main(hdp: Comparison, gains: Mapping[Row, Gain]) -> Section:
    header = (
        *("Tasks", "#GPUs", "Best", "Median", "Worst", "valid [2]"),
        *("Hierarchical Planner [1]", "Improvement over best [3]"),
    )
    rows = []
    for row in hdp.rows:
        ours, learned = hdp.ours(row, RANDOM), hdp.ours(row, LEARNED)
        cells = [_cell(ours, at, hdp.theirs(row, name)) for name, at in _of(ours).items()]
        valid = f"{len(ours.values)} of {ours.found}" if ours.found else word(ours.status)
        last = (learned.learned_text(SECONDS), gains[row].text(learned))
        rows.append((row.label, str(row.gpus), *cells, valid, *last))
    return Section("The paper's table", header, tuple(rows))


def _of(ours: Outcome) -> dict[str, float]:
    """The paper's columns, in seconds."""
    values = ours.values or (float("nan"),)
    return {"best": values[0], "median": ours.median, "worst": values[-1]}


def _cell(ours: Outcome, seconds: float, theirs: Printed) -> str:
    if not ours.values:
        return f"{ours.text(SECONDS)} ({theirs.text})"
    times = seconds / theirs.value
    return f"{SECONDS.format(seconds)} ({theirs.text}, x{times:.2f})"


def _improvement(hdp: Comparison, row: Row) -> Gain:
    """(best random - learned) / best random, as the paper computes it."""
    best = _of(hdp.ours(row, RANDOM))["best"]
    value = over_base(best, hdp.ours(row, LEARNED).median)
    return Gain(row, "improvement", value, hdp.theirs(row, "improvement"))


def _entries(hdp: Comparison, row: Row, gain: Gain) -> list[Entry]:
    key = {"task": row.task, "gpus": row.gpus, "column": RANDOM, "unit": SECONDS.unit}
    entries: list[Entry] = []
    for name, seconds in _of(hdp.ours(row, RANDOM)).items():
        theirs = hdp.theirs(row, name)
        printed = {"published": theirs.digits, "published_status": theirs.status}
        times = {"value": seconds, "ratio": seconds / theirs.value}
        entries.append({**key, "metric": f"{name}_step_time", **times, **printed})
    return [*entries, gain.entry()]


def _notes(hdp: Comparison) -> tuple[str, ...]:
    return (
        "Hierarchical Planner: as in [HDP's Table 1](hdp_table1.md), the median over seeds and the"
        f" best seed; in square brackets behind the median {seed_intervals(hdp, LEARNED)}"
        f" {notes.effort(hdp, LEARNERS)} {UPDATES}",
        "Random groupings whose search found a placement that fits in memory, of those there are;"
        " best, median and worst are over these alone.",
        "Improvement = (best random grouping - median of Hierarchical Planner) / best random"
        " grouping. The best of several seeds stands against a median, as the paper's best of ten"
        f" stands against its one planner.{_unequal(hdp)}",
        f"One GPU counts as alone from {ALONE:.0%} of all computing time on: our reading, the paper"
        " gives no measure. A claim is undecided where a record is missing or nothing valid is"
        " there to compare with.",
        *notes.failures(hdp.records),
        notes.completeness(hdp),
        *notes.provenance(hdp.records),
        *notes.code_note(hdp.records),
    )


def _unequal(hdp: Comparison) -> str:
    """A warning where the two sides of the improvement searched for different lengths."""
    rows = []
    for row in hdp.rows:
        most = [hdp.of_cell(row, p)["evaluations"].max() for p in (RANDOM, LEARNED)]
        if most[0] != most[1] and not any(pd.isna(most)):
            rows.append(f"{row.label} {most[0]:,.0f} and {most[1]:,.0f}")
    text = " **Unequal budgets**, evaluated placements of a random grouping and of the planner: "
    return f"{text}{', '.join(rows)}." if rows else ""
