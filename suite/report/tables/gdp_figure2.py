"""Figure 2 of GDP (Zhou et al. 2019): graphs that a policy was not trained on."""

from __future__ import annotations

import pandas as pd

from suite.report.agreement import faster
from suite.report.comparison import Comparison, Row
from suite.report.gdp import (
    FIGURE2,
    FIGURE2_MORE,
    HOLDOUT,
    SEEN_ALONE,
    TUNED_ZERO_SHOT,
    ZERO_SHOT,
    beside_figure2,
)
from suite.report.metrics import metric
from suite.report.outcome import beside
from suite.report.policies import policies_section, seen_mark
from suite.report.table import PrintedCell, Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import (
    RULE,
    Claim,
    claims_section,
    from_cells,
    gain_over,
    seconds,
)
from suite.report.tables._data import long_form
from suite.report.tables._intervals import seed_intervals

SECONDS = metric("step_time")
GRIDS = HOLDOUT.grids
"""What ``placebench bench gdp_figure2`` runs."""
BESIDE = {name: FIGURE2_MORE[name] for name in ("metis", "hdp_tuned", "gdp_tuned")}
"""What policies are compared with beside the figure's own bars."""
TRANSFERRED = ZERO_SHOT | {name: FIGURE2_MORE[name] for name in TUNED_ZERO_SHOT}
"""The bars of policies that were trained on other graphs."""
LEARNERS = {p: h for p, h in (FIGURE2 | FIGURE2_MORE).items() if p not in ("human_expert", "metis")}

CLAIMS_NOTE = 6
"""The note that says how claims are decided."""
TITLE = "GDP, Figure 2: graphs that a policy was not trained on"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by GDP (Zhou et al., arXiv 1910.01578, 2019, Figure 2), read off its bars and so
about 0.005 s uncertain, and ours / published. For each graph a policy is trained on all other
graphs of Table 1. Zero-shot: every operation goes to the device that is likeliest for it, in one
forward pass, and nothing is evaluated. Fine-tuned: 10 updates of 10 placements. A cell whose policy
was trained on the graph itself says so."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a policy of other graphs nothing is found, though Table 1 may have what it is beside.
    """
    ours = beside_figure2(records, published)
    claims = _claims(ours)
    sections = (
        claims_section(claims, CLAIMS_NOTE),
        _section("The figure's bars", ours, FIGURE2),
        _section("Not in the paper: changes of ours", ours, FIGURE2_MORE),
        _gains(ours),
        *policies_section(ours, TRANSFERRED),
    )
    data = long_form(ours, [*FIGURE2, *FIGURE2_MORE], [claim.entry() for claim in claims])
    transferred = ours.records["placer"].isin(TRANSFERRED).any()
    return Table(
        *(TITLE, LEAD, sections, _notes(ours), data),
        *(ours.expected, ours.found if transferred else 0),
    )


def _claims(ours: Comparison) -> list[Claim]:
    """Policies of other graphs against the human and HDP."""
    claims = []
    for placer, head in ZERO_SHOT.items():
        tuned = placer.replace("gdp", "gdp_tuned")
        for base, other in (("human_expert", "the human expert"), ("hdp", "HDP")):
            what = f"{head} is faster than {other}"
            name = f"{placer}_over_{base}"
            printed = [
                gain_over(ours.theirs(row, base).value, ours.theirs(row, placer).value)
                for row in ours.rows
            ]
            mine = [
                Claim(name, what, TRANSFERRED[p], [_gain(ours, row, base, p) for row in ours.rows])
                for p in (placer, tuned)
            ]
            claims += from_cells(name, what, printed, *mine)
    return claims


def _gain(ours: Comparison, row: Row, base: str, placer: str) -> float:
    return gain_over(_seconds(ours, row, base), _seconds(ours, row, placer))


def _section(title: str, ours: Comparison, heads: dict[str, str]) -> Section:
    rows = [
        (f"{row.label} ({row.gpus})", *(_cell(ours, row, placer) for placer in heads))
        for row in ours.rows
    ]
    marked = (f"{head}{' [2]' * (placer in LEARNERS)}" for placer, head in heads.items())
    return Section(title, ("Model (#devices)", *marked), tuple(rows))


def _cell(ours: Comparison, row: Row, placer: str) -> PrintedCell:
    outcome = ours.ours(row, placer)
    text = outcome.learned_text if placer in LEARNERS else outcome.text
    cell = beside(text(SECONDS), outcome, ours.theirs(row, placer))
    return cell + seen_mark(ours.of_cell(row, placer))


def _gains(ours: Comparison) -> Section:
    """What the claim is about: zero-shot and fine-tuned against the others, as ratios."""
    rows = []
    for base, head in (SEEN_ALONE | BESIDE).items():
        cells = [_wins(ours, placer, base) for placer in TRANSFERRED]
        rows.append((head, *cells))
    header = ("against", *TRANSFERRED.values())
    lead = (
        "Graphs on which it is faster; what runs out of memory is slower than what does not. In"
        " brackets the paper's count. By its bars, which can be read to about 0.005 s, zero-shot is"
        " as fast as HDP on 2-layer RNNLM and as the human on 4-layer RNNLM, where fine-tuned is"
        " 0.005 s below."
    )
    return Section("Faster on", header, tuple(rows), lead)


def _wins(ours: Comparison, placer: str, base: str) -> str:
    rows = ours.rows
    won, known = faster((_seconds(ours, r, placer), _seconds(ours, r, base)) for r in rows)
    theirs, printed = faster(
        (ours.theirs(r, placer).value, ours.theirs(r, base).value) for r in rows
    )
    return f"{won} of {known}" + f" ({theirs} of {printed})" * bool(printed)


def _seconds(ours: Comparison, row: Row, placer: str) -> float:
    return seconds(ours.ours(row, placer))


def _notes(ours: Comparison) -> tuple[str, ...]:
    return (
        "All cells are predictions: nothing was fitted to them (see"
        " [Table 1](gdp_table1.md), where the machine, the models and the experts are explained).",
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets behind the median {seed_intervals(ours, *LEARNERS)}"
        f" {notes.effort(ours, LEARNERS)}",
        "The human's 2-layer RNNLM is a bar of 0.275 s in the figure and 0.257 s in the paper's"
        " Table 1, which cannot both be.",
        'The paper fine-tunes for "fewer than 50 steps" and does not say how many placements a step'
        " has; nor what exactly the others are that a policy was trained on, or for how long.",
        f"{notes.oom_times(ours.records)}",
        f"{RULE} Gains are (other - policy) / policy, of medians over seeds. The published figures"
        " are the means of the bars as read, which the paper does not print; its rows show what"
        " the same rule says of its own bars. What runs out of memory counts as a gain of -100 %,"
        " and is left out of GEOMEAN, the geometric mean of other / policy, less 1.",
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
