"""Table 1 of HDP (Mirhoseini et al., ICLR 2018): seconds of one training step, every placer."""

from __future__ import annotations

import pandas as pd

from suite.comparison import Comparison, Row
from suite.metrics import metric
from suite.outcome import beside, best_of
from suite.table import Section, Table
from suite.tables import _notes as notes
from suite.tables._data import long_form
from suite.tables._sections import graph_section, memory_section

GRID = "quick"
MACHINE = "k40"
FITTED = {"cpu_only": "CPU Only", "gpu_only": "GPU Only"}
"""Columns whose published values the machine was fitted to (benchmarks/fit_k40.py)."""
PREDICTED = {"human_expert": "Human Expert", "scotch": "Scotch", "mincut": "MinCut"}
PAPER = FITTED | PREDICTED
"""The paper's placers that do not learn, and their heads."""
MORE = {"metis": "METIS", "random": "Random", "best_of_random": "Best of random"}
"""Our additional placers."""
LEARNED = "hdp"
SEEDS = dict.fromkeys([*PAPER, *MORE], 1) | {"random": 10}
"""Records of each placer in each row."""
SECONDS = metric("step_time")

TITLE = "HDP, Table 1: run time of one training step"
LEAD = """\
Seconds of one training step; lower is better. Each cell: ours, simulated, then in brackets the
value published by HDP (Mirhoseini et al., A Hierarchical Model for Device Placement, ICLR 2018,
Table 1) and ours / published. Seconds of a machine of 2017 are not the aim: orderings, ratios and
the OOM pattern are."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    paper = published[published["paper"] == "HDP"]
    hdp = Comparison.of(records, paper[paper["table"] == "1"], SEEDS, GRID, MACHINE)
    sections = (
        _main(hdp),
        _more(hdp),
        graph_section(hdp, paper[paper["table"] == "models"]),
        memory_section(hdp, PAPER | MORE),
    )
    data = long_form(hdp, [*SEEDS, LEARNED])
    found = hdp.expected - len(hdp.missing)
    return Table(TITLE, LEAD, sections, _notes(hdp), data, hdp.expected, found)


def _main(hdp: Comparison) -> Section:
    heads = ("CPU Only [1]", "GPU Only [1]", "#GPUs", "Human Expert [4]", "Scotch", "MinCut")
    header = ("Tasks", *heads, "Hierarchical Planner [6]", "Runtime Reduction [6]")
    rows = []
    for row in hdp.rows:
        ours = {placer: hdp.ours(row, placer) for placer in [*PAPER, LEARNED]}
        best = best_of(ours, SECONDS)
        cells = [
            beside(outcome, hdp.theirs(row, placer), SECONDS, placer == best)
            for placer, outcome in ours.items()
        ]
        cells.insert(len(FITTED), str(row.gpus))
        rows.append((row.label, *cells, _reduction(hdp, row)))
    return Section("The paper's table", header, tuple(rows))


def _reduction(hdp: Comparison, row: Row) -> str:
    """(best other - learned) / best other, as the paper computes it."""
    theirs = f"({hdp.theirs(row, 'runtime_reduction').text}%)"
    learned = hdp.ours(row, LEARNED)
    others = [hdp.ours(row, placer).median for placer in PAPER]
    best = min((time for time in others if time > 0), default=0.0)
    if not learned.values or not best:
        return f"{learned.text(SECONDS)} {theirs}"
    reduction = 100 * (best - learned.median) / best
    return f"{metric('runtime_reduction').format(reduction)}% {theirs}"


def _more(hdp: Comparison) -> Section:
    header = ("Tasks", *MORE.values(), "Lower bound [9]", "what binds", "Human Expert / bound")
    rows = []
    for row in hdp.rows:
        cells = [hdp.ours(row, placer).text(SECONDS) for placer in MORE]
        bound, kind = hdp.bound(row)
        ratio = hdp.ours(row, "human_expert").median / bound
        printed = metric("lower_bound").format(bound) if bound == bound else "missing"
        times = f"x{metric('ratio_to_bound').format(ratio)}" if ratio == ratio else "-"
        rows.append((row.label, *cells, printed, kind or "-", times))
    draws = hdp.records[hdp.records["placer"] == "best_of_random"]["evaluations"].max()
    lead = (
        "Seconds. Random: median [smallest-largest, n valid, failures] over its seeds. Best of"
        f" random: the fastest that fits of {'its' if pd.isna(draws) else int(draws)} draws."
    )
    return Section("Not in the paper", header, tuple(rows), lead)


def _notes(hdp: Comparison) -> tuple[str, ...]:
    fitted, predicted = hdp.pairs(*FITTED), hdp.pairs(*PREDICTED)
    every = fitted | predicted
    return (
        "CPU Only and GPU Only are **fitted**: the efficiencies and overheads of machine `k40` were"
        " chosen on the published values of these two columns (benchmarks/fit_k40.py):"
        f" {notes.spread(fitted, PAPER)}.",
        "Human Expert, Scotch and MinCut are **predictions**:"
        f" {notes.spread(predicted, PAPER)}. Over all columns, {notes.concordance(every)}."
        " Published cells slower than the slowest of our random placements, which a poor partition"
        f" alone hardly explains: {notes.beyond_random(hdp, PREDICTED)}.",
        f"{notes.oom_pattern(every, PAPER)} In GPU Only it is no prediction: vocabularies and"
        " ResNet's image size, which decide memory, were chosen knowing that column (see below).",
        "RNNLM: the paper's text puts each LSTM layer on its own GPU, but its cell equals GPU Only"
        " (ColocRL measured 3.81 s for two GPUs). To match the printed cell, the human expert's"
        " RNNLM is on a single GPU here. HDP's CPU Only and GPU Only for RNNLM are ColocRL's values"
        " to the digit and look carried over.",
        'The paper prints "-" for ResNet on the CPU without saying why.',
        "The learned planner's columns stay `not run` until its records exist. Reduction = (best"
        " other column - Hierarchical Planner) / best other column. The paper's 16.3% for"
        " Inception-V3 is 13.3% from its printed seconds.",
        f"{notes.oom_times(hdp.records)} {notes.close_calls(hdp, PAPER)}",
        "Bold: faster than every other column of this table's row, with no overlap between the"
        " ranges of their measurements.",
        "Lower bound: no valid placement has a smaller step time under this simulator's costs; the"
        " next column names the part that gives it.",
        *notes.choices(hdp),
        *notes.failures(hdp.records),
        notes.completeness(hdp),
        *notes.provenance(hdp.records),
    )
