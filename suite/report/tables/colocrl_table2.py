"""Table 2 of ColocRL (Mirhoseini et al., ICML 2017): seconds of one training step, every placer."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from suite.report.colocrl import (
    FITTED,
    LEARNED,
    LEARNERS,
    MORE,
    MORE_LEARNED,
    PAPER,
    PLACERS,
    PREDICTED,
    TODAY,
    printed_table,
)
from suite.report.comparison import Comparison, Row
from suite.report.metrics import metric
from suite.report.outcome import Outcome, Printed, beside, best_of, word
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import Gain, fastest, over_new
from suite.report.tables._intervals import seed_intervals
from suite.report.tables._sections import bounds_section, graph_section, memory_section
from suite.report.world import World

SECONDS = metric("step_time")
GRIDS = TODAY.grids
"""What ``placebench bench colocrl_table2`` runs."""

TITLE = "ColocRL, Table 2: run time of one training step"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by ColocRL (Mirhoseini et al., Device Placement Optimization with Reinforcement
Learning, ICML 2017, Table 2) and ours / published. Seconds of a machine of 2016 are not the aim:
orderings, ratios and the OOM pattern are."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    return table2(records, published, TODAY, TITLE, LEAD, _basis)


def table2(
    records: pd.DataFrame,
    published: pd.DataFrame,
    where: World,
    title: str,
    lead: str,
    basis: Callable[[Comparison], tuple[str, str]],
) -> Table:
    """Build the page of a world; ``basis`` says what was fitted in it, in its first two notes."""
    graphs = printed_table(published, "1", where)
    ours = where.beside(records, printed_table(published, "2", where), PLACERS)
    gains = {row: _speedup(ours, row) for row in ours.rows}
    sections = (
        _main(ours, gains, where),
        _groups(ours, graphs),
        bounds_section(ours, MORE, 7),
        _learned(ours),
        graph_section(ours, graphs),
        memory_section(ours, PAPER | LEARNERS | MORE),
    )
    derived = [*(gain.entry() for gain in gains.values()), *_group_entries(ours, graphs)]
    data = long_form(ours, list(PLACERS), derived)
    fitted, *predicted = *basis(ours), *notes.on_one_device(ours, LEARNED, PLACERS[LEARNED])
    text = (fitted, " ".join(predicted), *_notes(ours))
    return Table(title, lead, sections, text, data, ours.expected, ours.found)


def _main(ours: Comparison, gains: dict[Row, Gain], where: World) -> Section:
    heads = ("Single-CPU [1]", "Single-GPU [1]", "#GPUs", "Scotch", "MinCut", "Expert [4]")
    rows = []
    for row in ours.rows:
        outcomes = {placer: ours.ours(row, placer) for placer in [*PAPER, LEARNED]}
        best = best_of(outcomes, SECONDS)
        cells: list[str] = [
            beside(_text(placer, outcome), outcome, ours.theirs(row, placer), placer == best)
            + where.mark(row, placer, ours.theirs(row, placer))
            for placer, outcome in outcomes.items()
        ]
        cells.insert(len(FITTED), str(row.gpus))
        rows.append((row.model, *cells, gains[row].text(outcomes[LEARNED])))
    header = ("Tasks", *heads, "RL-based [5]", "Speedup [5]")
    return Section("The paper's table", header, tuple(rows))


def _text(placer: str, outcome: Outcome) -> str:
    return outcome.learned_text(SECONDS) if placer in LEARNERS else outcome.text(SECONDS)


def _speedup(ours: Comparison, row: Row) -> Gain:
    """(fastest baseline - learned) / learned, as the paper computes it."""
    prior = fastest(ours.ours(row, placer) for placer in PAPER)
    value = over_new(prior, ours.ours(row, LEARNED).median)
    return Gain(row, "speedup", value, ours.theirs(row, "speedup"))


def _learned(ours: Comparison) -> Section:
    rows = [
        (row.label, *(_text(placer, ours.ours(row, placer)) for placer in MORE_LEARNED))
        for row in ours.rows
    ]
    header = ("Tasks", *(f"{head} [5]" for head in MORE_LEARNED.values()))
    return Section("Learned, not in the paper", header, tuple(rows), "Seconds, as under RL-based.")


def _groups(ours: Comparison, graphs: pd.DataFrame) -> Section:
    rows = []
    for row in ours.models:
        theirs, mine = Printed.of(graphs, row.task, "groups"), _group_count(ours, row)
        missing = word(ours.ours(row, LEARNED).status)
        cells = ("-" if missing == "ok" else missing, theirs.text, "-")
        if mine is not None:
            cells = (str(mine), theirs.text, f"x{mine / theirs.value:.2f}")
        rows.append((row.model, *cells))
    return Section(
        "Co-location groups",
        ("Tasks", "ours [6]", "paper", "ours / paper"),
        tuple(rows),
        "What the RL-based planner places as one (the paper's Table 1).",
    )


def _group_count(ours: Comparison, row: Row) -> int | None:
    """Groups that the learned planner was offered; None without a record that says so."""
    mine = ours.records[(ours.records["task"] == row.task) & (ours.records["placer"] == LEARNED)]
    return next((int(facts["groups"]) for facts in mine["planner"] if "groups" in facts), None)


def _group_entries(ours: Comparison, graphs: pd.DataFrame) -> list[Entry]:
    entries: list[Entry] = []
    for row in ours.models:
        theirs, mine = Printed.of(graphs, row.task, "groups"), _group_count(ours, row)
        printed = {"published": theirs.digits, "published_status": theirs.status}
        whole = {"task": row.task, "gpus": 0, "metric": "groups", "unit": "groups"}
        entries.append({**whole, **printed})
        if mine is not None:
            entries[-1] = {**entries[-1], "value": mine, "ratio": mine / theirs.value}
    return entries


def _basis(ours: Comparison) -> tuple[str, str]:
    fitted, predicted = ours.pairs(*FITTED), ours.pairs(*PREDICTED)
    return (
        "Single-CPU and Single-GPU are **fitted**: the efficiencies and overheads of machine `k80`"
        " were chosen on the published values of these two columns (benchmarks/fit_machine.py);"
        " the paper prints them once for both GPU counts, which are two cells each here:"
        f" {notes.spread(fitted, PAPER)}.",
        "Scotch, MinCut and Expert are **predictions**:"
        f" {notes.spread(predicted, PAPER)}. Without the learned column,"
        f" {notes.concordance(fitted | predicted)}. Published cells slower than the slowest of our"
        " random placements, which a poor partition alone hardly explains:"
        f" {notes.beyond_random(ours, PREDICTED)}.",
    )


def _notes(ours: Comparison) -> tuple[str, ...]:
    every = ours.pairs(*FITTED, *PREDICTED)
    return (
        f"{notes.oom_pattern(every, PAPER)} In Single-GPU it is no prediction: the vocabularies,"
        " which decide memory, were chosen knowing that column (see below).",
        "Expert: each LSTM layer on its own GPU, for NMT on 4 GPUs encoder and decoder apart;"
        " RNNLM's two layers leave two of 4 GPUs idle. The paper says nothing of RNNLM's embedding"
        " and softmax. Inception-V3 is cut into contiguous parts of about as many convolutions.",
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets behind the median {seed_intervals(ours, *LEARNERS)}"
        " Speedup = (fastest baseline - median of RL-based) / RL-based, over the baselines of the"
        " paper's columns. Its 19.0% for Inception-V3 on 4 GPUs is 19.5% from its printed seconds."
        f" {notes.effort(ours, LEARNERS)}",
        "Groups by the heuristics of section 3.3 of the paper (docs/colocation.md says how"
        " we read them).",
        "Lower bound: no valid placement has a smaller step time under this simulator's costs; the"
        " next column names the part that gives it.",
        f"{notes.oom_times(ours.records)} {notes.close_calls(ours, PAPER)}",
        "Bold: faster than every other column of this table's row, with no overlap between the"
        " ranges of their measurements.",
        *notes.choices(ours),
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
