"""Table 2 of GDP (Zhou et al. 2019): one policy for a batch of graphs against one for each."""

from __future__ import annotations

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import BATCH, printed_table
from suite.report.metrics import metric
from suite.report.outcome import NOT_GIVEN
from suite.report.policies import policies_section
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import (
    RULE,
    Claim,
    claims_section,
    from_cells,
    gain_over,
    seconds,
)
from suite.report.tables._data import Entry, long_form
from suite.report.tables._gains import Gain, over_new

SECONDS = metric("step_time")
GRIDS = BATCH.grids
"""What ``placebench bench gdp_table2`` runs."""
PAIRS = {"gdp_batch": "gdp", "gdp_tuned_batch": "gdp_tuned"}
"""The policy of many graphs -> that of one."""
HEADS = {
    "gdp_batch": "GDP-batch",
    "gdp": "GDP-one",
    "gdp_tuned_batch": "tuned, batch",
    "gdp_tuned": "tuned, one",
}
NAME = "speedup_of_batch"

TITLE = "GDP, Table 2: one policy for eleven graphs, and one for each"
LEAD = """\
Seconds of one training step, simulated, of the best placement found: by one policy trained on all
of these graphs at once (GDP-batch), and by one policy for each (GDP-one). The speed-up is (one -
batch) / batch; in brackets what GDP prints (Zhou et al., arXiv 1910.01578, 2019, Table 2), which is
all that it prints: its seconds are not given."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a policy of many graphs nothing is found, though Table 1 may have those of one.
    """
    ours = BATCH.beside(records, printed_table(published, "2"), HEADS)
    gains = [_gain(ours, row, new) for row in ours.rows for new in PAIRS]
    heads = {name: head for name, head in HEADS.items() if name in PAIRS}
    claims = _claims(ours)
    sections = (claims_section(claims, 3), _main(ours), *policies_section(ours, heads))
    derived = [_entry(gain, new) for gain, new in _named(gains)]
    data = long_form(ours, list(HEADS), [*derived, *(claim.entry() for claim in claims)])
    trained = ours.records["placer"].isin(PAIRS).any()
    return Table(
        *(TITLE, LEAD, sections, _notes(ours), data),
        *(ours.expected, ours.found if trained else 0),
    )


def _claims(ours: Comparison) -> list[Claim]:
    what = "one policy for eleven graphs is faster than one for each"
    mine = []
    for new, one in PAIRS.items():
        pairs = [(seconds(ours.ours(row, one)), seconds(ours.ours(row, new))) for row in ours.rows]
        mine.append(Claim(NAME, what, HEADS[new], [gain_over(*pair) for pair in pairs]))
    return from_cells(NAME, what, (ours.theirs(row, NAME).value for row in ours.rows), *mine)


def _named(gains: list[Gain]) -> list[tuple[Gain, str]]:
    return list(zip(gains, [*PAIRS] * (len(gains) // len(PAIRS)), strict=True))


def _entry(gain: Gain, new: str) -> Entry:
    return {**gain.entry(), "column": new}


def _gain(ours: Comparison, row: Row, new: str) -> Gain:
    """Ours beside the paper's, which is about its own planner and not the tuned one."""
    value = over_new(ours.ours(row, PAIRS[new]).median, ours.ours(row, new).median)
    theirs = ours.theirs(row, NAME) if new == "gdp_batch" else NOT_GIVEN
    return Gain(row, NAME, value, theirs)


def _main(ours: Comparison) -> Section:
    rows = []
    for row in ours.rows:
        cells = []
        for new, one in PAIRS.items():
            texts = [ours.ours(row, placer).learned_text(SECONDS) for placer in (new, one)]
            cells += [*texts, _gain(ours, row, new).text(ours.ours(row, new))]
        rows.append((f"{row.label} ({row.gpus})", *cells))
    first, second, third, fourth = HEADS.values()
    header = ("Model (#devices)", first, f"{second} [1]", "speed-up", third, f"{fourth} [1]")
    return Section("The paper's table", (*header, "speed-up, tuned"), tuple(rows))


def _notes(ours: Comparison) -> tuple[str, ...]:
    one = {name: HEADS[name] for name in PAIRS.values()}
    return (
        "One policy for each graph: the cells of [Table 1](gdp_table1.md), where the machine and"
        f" the models are explained; medians over seeds. {notes.effort(ours, one)} A batch's policy"
        " has as many placements of each graph as the last section says.",
        "The batch is judged by the best placement that it met in training, as its policy's file"
        " keeps it: these graphs are those that it was trained on, and every record says so.",
        f"{RULE} The published figure is the geometric mean of the ratios that the paper's cells"
        " give, which it does not print; its row shows what the same rule says of its own cells."
        " GEOMEAN: geometric mean of one / batch, less 1. A batch is one training with one seed, so"
        " that the interval is over graphs only.",
        *notes.failures(ours.records),
        notes.completeness(ours),
        *notes.provenance(ours.records),
        *notes.code_note(ours.records),
    )
