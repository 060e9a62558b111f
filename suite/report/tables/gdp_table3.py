"""Table 3 of GDP (Zhou et al. 2019): small batches of graphs against the best of all others."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.gdp import BATCH3, BATCHES, printed_table
from suite.report.metrics import metric
from suite.report.outcome import Printed
from suite.report.policies import policies_section
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._claims import (
    RULE,
    Claim,
    Untried,
    claims_section,
    from_cells,
    gain_over,
    seconds,
)
from suite.report.tables._data import long_form
from suite.report.tables._gains import Gain, fastest, over_new

SECONDS = metric("step_time")
GRIDS = BATCH3.grids
"""What ``placebench bench gdp_table3`` runs."""
OTHERS = {
    "human_expert": "human",
    "metis": "METIS",
    "hdp": "HDP",
    "hdp_tuned": "HDP, tuned",
    "gdp": "GDP-one",
    "gdp_tuned": "GDP-one, tuned",
}
NAME = "speedup_over_best"
UNTRIED = ((4, "three times 8-layer GNMT"), (5, "three times 8-layer RNNLM"))
"""Batches, and what of them is not built."""

TITLE = "GDP, Table 3: policies trained on small batches"
LEAD = """\
Seconds of one training step, simulated, of the best placement that a policy met while it was
trained on a batch of graphs, against the best of the human expert, METIS, HDP and GDP-one, these
two with the paper's settings and with ours (tuned), which the paper has not. The speed-up is (best
other - batch) / batch; in brackets what GDP prints (Zhou et al., arXiv 1910.01578, 2019, Table 3).
The policies are those of `gdp_tuned`, GDP with changes of ours."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a policy of a batch nothing is found, though Table 1 may have what it is beside.
    """
    parts = {n: _comparison(records, published, n) for n in BATCHES}
    claims = {n: _claims(ours, n) for n, ours in parts.items()}
    untried = [Untried(f"batch {n}, {what}", _printed(published, n)) for n, what in UNTRIED]
    sections = [claims_section([one for some in claims.values() for one in some], 4, untried)]
    sections += [_batch(ours, n) for n, ours in parts.items()]
    for n, ours in parts.items():
        sections += policies_section(ours, {_placer(n): "batch"}, f"The policy of batch {n}")
    data = pd.concat([_data(o, n, claims[n]) for n, o in parts.items()], ignore_index=True)
    expected = {cell for ours in parts.values() for cell in ours.cells}
    missing = {name for ours in parts.values() for name in ours.missing}
    trained = any(ours.records["placer"].eq(_placer(n)).any() for n, ours in parts.items())
    found = len(expected) - len(missing) if trained else 0
    text = _notes(records, published, parts)
    return Table(TITLE, LEAD, tuple(sections), text, data, len(expected), found)


def _comparison(records: pd.DataFrame, published: pd.DataFrame, n: int) -> Comparison:
    printed = printed_table(published, f"3 batch {n}")
    return BATCH3.beside(records, printed, [_placer(n), *OTHERS])


def _placer(n: int) -> str:
    return f"gdp_tuned_batch{n}"


def _gain(ours: Comparison, row: Row, n: int) -> Gain:
    best = fastest(ours.ours(row, placer) for placer in OTHERS)
    value = over_new(best, ours.ours(row, _placer(n)).median)
    return Gain(row, NAME, value, ours.theirs(row, NAME))


def _claims(ours: Comparison, n: int) -> list[Claim]:
    what = f"batch {n} is faster than the best other"
    name = f"{NAME}_batch{n}"
    gains = []
    for row in ours.rows:
        best = fastest(ours.ours(row, placer) for placer in OTHERS)
        gains.append(gain_over(best, seconds(ours.ours(row, _placer(n)))))
    mine = Claim(name, what, "GDP, tuned, batch", gains)
    return from_cells(name, what, (ours.theirs(row, NAME).value for row in ours.rows), mine)


def _batch(ours: Comparison, n: int) -> Section:
    rows = []
    for row in ours.rows:
        outcomes = [ours.ours(row, placer) for placer in (_placer(n), *OTHERS)]
        cells = [outcome.learned_text(SECONDS) for outcome in outcomes]
        rows.append((f"{row.label} ({row.gpus})", *cells, _gain(ours, row, n).text(outcomes[0])))
    header = ("Model (#devices)", "batch", *OTHERS.values(), "speed-up over the best other")
    return Section(f"Batch {n}", header, tuple(rows))


def _data(ours: Comparison, n: int, claims: Sequence[Claim]) -> pd.DataFrame:
    gains = [{**_gain(ours, row, n).entry(), "column": _placer(n)} for row in ours.rows]
    return long_form(ours, [_placer(n)], [*gains, *(claim.entry() for claim in claims)])


def _notes(
    records: pd.DataFrame, published: pd.DataFrame, parts: dict[int, Comparison]
) -> tuple[str, ...]:
    ours = pd.concat([part.records for part in parts.values()])
    mine = records[records.index.isin(ours.index)]
    gone = [f"batch {n}, {what}: {_printed(published, n).text}%" for n, what in UNTRIED]
    return (
        "A batch is judged by the best placement that its policy met in training: these graphs are"
        " those that it was trained on, and every record says so.",
        "Printed and not built here, since the paper does not say what three times one graph are:"
        f" {'; '.join(gone)}.",
        "Of a batch there is one training, with one seed; of the others the median over seeds"
        " counts. A percent more or less is within what seeds differ by.",
        f"{RULE} The published figures are the geometric means of the ratios that the paper's cells"
        " give, which it does not print; its rows show what the same rule says of its own cells."
        " GEOMEAN: geometric mean of best other / batch, less 1. The best other is the fastest of"
        " six medians, of which the paper has four, so that it is harder to beat than the paper's.",
        *notes.failures(mine),
        *(f"Batch {n}: {notes.completeness(part)}" for n, part in parts.items()),
        *notes.provenance(mine),
        *notes.code_note(mine),
    )


def _printed(published: pd.DataFrame, n: int) -> Printed:
    return Printed.of(printed_table(published, f"3 batch {n}"), "all", NAME)
