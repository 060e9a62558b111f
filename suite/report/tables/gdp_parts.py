"""What GDP's parts are worth (Zhou et al. 2019), and what we added to it."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import PARTS, printed_table
from suite.report.metrics import metric
from suite.report.outcome import NOT_GIVEN, Printed
from suite.report.policies import policies_section
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import RULE, average, percent, verdict
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import over_new

SECONDS, GAIN = metric("step_time"), metric("gain_of_part")
GRIDS = PARTS.grids
"""What ``placebench bench gdp_parts`` runs."""
PRINTED = {"no_attention": "attention", "no_superposition": "superposition"}
"""Name in the grids and among the published numbers -> the part."""
OURS = {"no_table": "the table of logits", "no_head_start": "the head start of fast devices"}
ONE, BATCH = "one graph", "eleven graphs at once"
PLANNERS = {
    "gdp": ("GDP", ONE, PRINTED),
    "gdp_tuned": ("GDP, tuned", ONE, PRINTED | OURS),
    "gdp_batch": ("GDP-batch", BATCH, {"no_superposition": "superposition"}),
    "gdp_tuned_batch": ("GDP-batch, tuned", BATCH, {"no_superposition": "superposition"}),
}
"""Planner -> its head, what it learns on, and the parts that are left out one at a time."""
PLACERS = [
    name
    for planner, (_, _, parts) in PLANNERS.items()
    for name in (planner, *(f"{planner}_{part}" for part in parts))
]

FAILING = ("amoebanet_d", "gdp_inception_v3")
"""Graphs of which the paper says that a batch without superposition fails."""
TITLE = "GDP: what its parts are worth"
LEAD = """\
Simulated seconds of one training step of the best placement found, with and without a part, lower
is better; and by how many percent the part is faster: (without - with) / with, as GDP computes its
other speed-ups. GDP (Zhou et al., arXiv 1910.01578, 2019) says that attention makes placements 18 %
faster on average and superposition 6.5 %, and that without superposition training on several graphs
fails for AmoebaNet and Inception beside RNNLM and GNMT with four layers. It prints no table of
it."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a record of a planner that lacks a part nothing is found, though other tables may have
    what it is compared with.
    """
    claims = printed_table(published, "ablation")
    ours = PARTS.beside(records, printed_table(published, "1"), PLACERS)
    sections = (
        _claims(ours, claims),
        *(_planner(ours, name) for name in PLANNERS),
        *policies_section(ours, {n: n for n in PLACERS if PLANNERS[_planner_of(n)][1] == BATCH}),
    )
    data = long_form(ours, PLACERS, _entries(ours))
    lacking = ours.records["placer"].isin(set(PLACERS) - set(PLANNERS)).any()
    return Table(
        *(TITLE, LEAD, sections, _notes(ours), data),
        *(ours.expected, ours.found if lacking else 0),
    )


def _planner_of(placer: str) -> str:
    """The planner that a name in the grid is a variant of."""
    return placer.partition("_no_")[0]


def _gain(ours: Comparison, row: Row, planner: str, part: str) -> float:
    """In percent; NaN where one of the two found nothing that fits, or has no record."""
    without, whole = ours.ours(row, f"{planner}_{part}"), ours.ours(row, planner)
    return over_new(without.median, whole.median)


def _gains(ours: Comparison, planner: str, part: str) -> list[float]:
    known = (_gain(ours, row, planner, part) for row in ours.rows)
    return [gain for gain in known if gain == gain]


def _claims(ours: Comparison, claims: pd.DataFrame) -> Section:
    rows = []
    for planner, (head, learns_on, parts) in PLANNERS.items():
        for part, what in parts.items():
            # What is printed is of one graph.
            theirs = Printed.of(claims, "all", part) if learns_on == ONE else NOT_GIVEN
            gains = _gains(ours, planner, part)
            decided = verdict(gains, theirs.value)
            rows.append((what, head, percent(theirs), *average(gains), decided))
    header = (
        *("part", "planner", "published", "GEOMEAN [2]", "median [interval over graphs]"),
        *("faster with it on", "verdict [1]"),
    )
    return Section("The published claims", header, tuple(rows))


def _planner(ours: Comparison, planner: str) -> Section:
    """Each graph with the planner whole and without each part."""
    head, learns_on, parts = PLANNERS[planner]
    rows = []
    for row in ours.rows:
        cells = [ours.ours(row, planner).learned_text(SECONDS)]
        for part in parts:
            outcome = ours.ours(row, f"{planner}_{part}")
            gain = _gain(ours, row, planner, part)
            behind = f" ({GAIN.format(gain)} %)" if gain == gain else ""
            cells.append(outcome.learned_text(SECONDS) + behind)
        rows.append((f"{row.label} ({row.gpus})", *cells))
    header = ("Model (#devices)", "whole", *(f"without {what}" for what in parts.values()))
    return Section(f"{head}, on {learns_on}", header, tuple(rows))


def _entries(ours: Comparison) -> list[Entry]:
    return [
        {
            **{"task": row.task, "gpus": row.gpus, "column": f"{planner}_{part}"},
            **{"metric": GAIN.name, "unit": GAIN.unit, "value": _gain(ours, row, planner, part)},
        }
        for planner, (_, _, parts) in PLANNERS.items()
        for part in parts
        for row in ours.rows
    ]


def _batches(ours: Comparison) -> Iterator[str]:
    """Whether a batch without superposition fails on the graphs that the paper names."""
    batches = {name: head for name, (head, learns_on, _) in PLANNERS.items() if learns_on == BATCH}
    found = [
        f"{GAIN.format(gain)} % on {row.label} ({head})"
        for row in ours.rows
        if row.task in FAILING
        for name, head in batches.items()
        if (gain := _gain(ours, row, name, "no_superposition")) == gain
    ]
    if found:
        yield (
            "Whether training on several graphs fails without superposition, as the paper says of"
            f" AmoebaNet and Inception: with it, it is faster by {', '.join(found)}. Ours learns on"
            " eleven graphs, one training each; the paper's batch was another."
        )


def _notes(ours: Comparison) -> tuple[str, ...]:
    heads = {name: name for name in PLACERS}
    return (
        f"{RULE} Superposition conditions on a dense layer here, on a Transformer's in the paper."
        " The interval is over graphs; policies of a batch were trained once, and many cells range"
        " further than the gains.",
        "Geometric mean of without / with, less 1, as in [Table 1](gdp_table1.md); the paper does"
        " not say how it averages. Graphs where one of the two found nothing that fits in memory"
        f" are left out of the averages. Medians over seeds. {notes.effort(ours, heads)}",
        "On eleven graphs at once: the best placement that the policy met of each graph while it"
        " was trained on all of them, as in [Table 2](gdp_table2.md).",
        *_batches(ours),
        "Attention is the Transformer: without it the devices' chances come from what the graph"
        " network says of a node. The table of logits and the head start are ours"
        " (docs/planners.md).",
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
