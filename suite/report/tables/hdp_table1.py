"""Table 1 of HDP (Mirhoseini et al., ICLR 2018): seconds of one training step, every placer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from suite.report import world
from suite.report.comparison import Comparison, Row
from suite.report.hdp import (
    FITTED,
    LEARNED,
    MORE,
    MORE_LEARNED,
    PAPER,
    PLACERS,
    PREDICTED,
    RUN_GRIDS,
    TODAY,
    UPDATES,
    beside_table1,
    printed_table,
)
from suite.report.metrics import metric
from suite.report.outcome import Outcome, beside, best_of
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._columns import about, comparisons
from suite.report.tables._data import Entry, long_form, placer_entries
from suite.report.tables._gains import Gain, fastest, over_base
from suite.report.tables._intervals import seed_intervals
from suite.report.tables._sections import bounds_section, graph_section, memory_section
from suite.report.world import World

FOOTNOTES = dict.fromkeys(FITTED, 1) | {"human_expert": 4, LEARNED: 6}
"""Placer -> the note that its head refers to."""
SECONDS = metric("step_time")
GRIDS = TODAY.grids
"""What ``placebench bench hdp_table1`` runs."""

TITLE = "HDP, Table 1: run time of one training step"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by HDP (Mirhoseini et al., A Hierarchical Model for Device Placement, ICLR 2018,
Table 1) and ours / published. Seconds of a machine of 2017 are not the aim: orderings, ratios and
the OOM pattern are."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    return table1(records, published, TODAY, TITLE, LEAD, _basis)


def table1(
    records: pd.DataFrame,
    published: pd.DataFrame,
    where: World,
    title: str,
    lead: str,
    basis: Callable[[Comparison], tuple[str, str]],
) -> Table:
    """Build the page of a world; ``basis`` says what was fitted in it, in its first two notes."""
    hdp = beside_table1(records, published, PLACERS, where)
    real = comparisons(records, hdp.printed, RUN_GRIDS)
    gains = {row: _reduction(hdp, row) for row in hdp.rows}
    sections = (
        _main(hdp, real, gains, where),
        bounds_section(hdp, MORE, 9),
        _learned(hdp, where),
        graph_section(hdp, printed_table(published, "models", where)),
        memory_section(hdp, PAPER | {LEARNED: PLACERS[LEARNED]} | MORE),
    )
    entries = [entry for head, one in real.items() for entry in _measured(head, one)]
    entries += [gain.entry() for gain in gains.values()]
    data = long_form(hdp, list(PLACERS), entries)
    found = about({head: one.records for head, one in real.items()})
    fitted, *predicted = *basis(hdp), *notes.on_one_device(hdp, LEARNED, PLACERS[LEARNED])
    text = (fitted, " ".join(predicted), *_notes(hdp, where), *found)
    return Table(title, lead, sections, text, data, hdp.expected, hdp.found)


def _main(
    hdp: Comparison, real: dict[str, Comparison], gains: dict[Row, Gain], where: World
) -> Section:
    """The paper's table; behind each simulated column one for each backend in ``real``."""
    heads = [head for placer in [*PAPER, LEARNED] for head in _heads(placer, real)]
    heads.insert(len(FITTED) * (1 + len(real)), "#GPUs")
    header = ("Tasks", *heads, "Runtime Reduction [6]")
    rows = []
    for row in hdp.rows:
        columns = [_cells(one, row, where) for one in (hdp, *real.values())]
        cells = [cell for same_placer in zip(*columns, strict=True) for cell in same_placer]
        cells.insert(len(FITTED) * (1 + len(real)), str(row.gpus))
        rows.append((row.label, *cells, gains[row].text(hdp.ours(row, LEARNED))))
    return Section("The paper's table", header, tuple(rows))


def _heads(placer: str, real: Iterable[str]) -> list[str]:
    note = f" [{FOOTNOTES[placer]}]" if placer in FOOTNOTES else ""
    return [PLACERS[placer] + note, *(f"{PLACERS[placer]}, {head}" for head in real)]


def _cells(one: Comparison, row: Row, where: World) -> list[str]:
    """The paper's placers, as simulated or as one backend measured them; the best in bold."""
    ours = {placer: one.ours(row, placer) for placer in [*PAPER, LEARNED]}
    best = best_of(ours, SECONDS)
    return [
        beside(_text(placer, outcome), outcome, one.theirs(row, placer), placer == best)
        + where.mark(row, placer, one.theirs(row, placer))
        for placer, outcome in ours.items()
    ]


def _measured(head: str, one: Comparison) -> Iterator[Entry]:
    """Long-form entries of a backend's columns, whose metrics name backend and machine."""
    for row in one.rows:
        for placer in [*PAPER, LEARNED]:
            key = {"task": row.task, "gpus": row.gpus, "column": placer}
            for entry in placer_entries(one, row, placer):
                yield {**key, **entry, "metric": f"{entry['metric']}, {head}"}


def _text(placer: str, ours: Outcome) -> str:
    learned = placer == LEARNED or placer in MORE_LEARNED
    return ours.learned_text(SECONDS) if learned else ours.text(SECONDS)


def _reduction(hdp: Comparison, row: Row) -> Gain:
    """(best other - learned) / best other, as the paper computes it."""
    prior = fastest(hdp.ours(row, placer) for placer in PAPER)
    value = over_base(prior, hdp.ours(row, LEARNED).median)
    return Gain(row, "runtime_reduction", value, hdp.theirs(row, "runtime_reduction"))


def _learned(hdp: Comparison, where: World) -> Section:
    placers = where.planned(MORE_LEARNED)
    rows = [
        (row.label, *(_text(placer, hdp.ours(row, placer)) for placer in placers))
        for row in hdp.rows
    ]
    raw = ", raw features one in which the Grouper sees operations' numbers as they are"
    lead = (
        "Seconds, as under Hierarchical Planner [6]. Tuned and TF release are other configurations"
        f" of it{raw * ('hdp_raw' in placers)}; ColocRL groups by hand-made rules (Mirhoseini et"
        " al. 2017)."
    )
    header = ("Tasks", *placers.values())
    return Section("Learned, not in the paper", header, tuple(rows), lead)


def _basis(hdp: Comparison) -> tuple[str, str]:
    fitted = TODAY.pairs(hdp, PAPER, world.FITTED)
    predicted = TODAY.pairs(hdp, PREDICTED, world.PREDICTED)
    return (
        "CPU Only and GPU Only are **fitted**: the efficiencies and overheads of machine `k40` were"
        " chosen on the published values of these two columns (benchmarks/fit_machine.py); so are"
        " the human expert's cells of Inception-V3, ResNet and RNNLM, whose placement is GPU"
        f" Only's: {notes.spread(fitted, PAPER)}.",
        "Human Expert on NMT, Scotch and MinCut are **predictions**:"
        f" {notes.spread(predicted, PAPER)}. Without the learned column,"
        f" {notes.concordance(fitted | predicted)}. Published cells slower than the slowest of our"
        " random placements, which a poor partition alone hardly explains:"
        f" {notes.beyond_random(hdp, PREDICTED)}.",
    )


def _notes(hdp: Comparison, where: World) -> tuple[str, ...]:
    learners = {LEARNED: PLACERS[LEARNED]} | where.planned(MORE_LEARNED)
    every = hdp.pairs(*FITTED, *PREDICTED)
    return (
        f"{notes.oom_pattern(every, PAPER)} In GPU Only it is no prediction: vocabularies and"
        " ResNet's image size, which decide memory, were chosen knowing that column (see below).",
        "RNNLM: the paper's text puts each LSTM layer on its own GPU, but its cell equals GPU Only"
        " (ColocRL measured 3.81 s for two GPUs). To match the printed cell, the human expert's"
        " RNNLM is on a single GPU here. HDP's CPU Only and GPU Only for RNNLM are ColocRL's values"
        " to the digit and look carried over.",
        'The paper prints "-" for ResNet on the CPU without saying why.',
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets behind the median {seed_intervals(hdp, *learners)}"
        " Reduction = (best other column - median of Hierarchical Planner) / best other column. The"
        " paper's 16.3% for Inception-V3 is 13.3% from its printed seconds."
        f" {notes.effort(hdp, learners)} {UPDATES}",
        f"{notes.oom_times(hdp.records)} {notes.close_calls(hdp, PAPER)}",
        "Bold: faster than every other column of this table's row, with no overlap between the"
        " ranges of their seeds and measurements. Scotch's and MinCut's answers depend on the seed:"
        " the median and, in square brackets, the least and the largest. Those of the columns"
        " before them do not.",
        "Lower bound: no valid placement has a smaller step time under this simulator's costs; the"
        " next column names the part that gives it.",
        *notes.choices(hdp),
        *notes.failures(hdp.records),
        notes.completeness(hdp),
        *notes.provenance(hdp.records),
        *notes.code_note(hdp.records),
    )
