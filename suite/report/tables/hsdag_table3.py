"""Table 3 of HSDAG (Duan et al., NeurIPS 2024): what its features are worth, and its groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from suite.report.comparison import Comparison
from suite.report.outcome import beside
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._data import long_form
from suite.report.tables._hsdag import (
    FITTED,
    IN_TURN,
    MACHINE,
    MILLISECONDS,
    PAPER,
    SIDE_BY_SIDE,
    TITLES,
    printed_rows,
)
from suite.report.tables._intervals import seed_intervals

ABLATIONS = {IN_TURN: "hsdag_ablation", SIDE_BY_SIDE: "hsdag_ablation_concurrent"}
"""Grid with what nothing is left out of -> grid with the ablations of it."""
GRIDS = (*ABLATIONS.values(), *ABLATIONS)
"""What ``placebench bench hsdag_table3`` runs."""
FEATURES = {
    "cpu_only": "CPU-only",
    "hsdag": "Original",
    "without_output_shape": "w/o output shape",
    "without_node_id": "w/o node ID",
    "without_structure": "w/o graph structural features",
}
"""Placer -> its row in the paper's table."""
TUNED = {
    "cpu_only": "CPU-only",
    "hsdag_tuned": "HSDAG tuned",
    "tuned_without_output_shape": "w/o output shape",
    "tuned_without_node_id": "w/o node ID",
    "tuned_without_structure": "w/o graph structural features",
    "tuned_only_parent": "coarsened as released: a node joins its only parent",
    "tuned_not_coarsened": "not coarsened",
    "tuned_two_levels": "groups parsed twice",
    "tuned_all_levels": "groups parsed until their number falls no more (released)",
}
SECTIONS = {
    IN_TURN: ("the paper's", "hsdag", FEATURES),
    SIDE_BY_SIDE: ("tuned", "hsdag_tuned", TUNED),
}
"""Grid -> whose settings, what nothing is left out of, the rows."""
ORIGINALS = ("cpu_only", "hsdag", "hsdag_tuned")
"""Of Table 2's grids; the others are of the ablations' own."""
TITLE = "HSDAG, Table 3: what its features are worth"
LEAD = f"""\
Milliseconds of one inference; lower is better. Each cell: ours, simulated, a median over seeds,
then in brackets the value published by
{PAPER.format(number=3)},
and ours / published; then how much less than the CPU alone that is, in %, and the published
figure."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers.

    Without a record of an ablation nothing is found, though Table 2 may have what it is compared
    with.
    """
    printed = printed_rows(published, "3")
    found = {
        grid: Comparison.of(records, printed, heads, (ABLATIONS[grid], grid), MACHINE)
        for grid, (_, _, heads) in SECTIONS.items()
    }
    sections = [
        _section(f"{TITLES[grid]}, {settings} settings", found[grid], heads)
        for grid, (settings, _, heads) in SECTIONS.items()
    ]
    parts = [long_form(found[grid], list(heads)) for grid, (_, _, heads) in SECTIONS.items()]
    data = pd.concat(parts, ignore_index=True)
    ablated = any(not _ablated(one).empty for one in found.values())
    expected = sum(one.expected for one in found.values())
    there = sum(one.found for one in found.values()) if ablated else 0
    text = [*_words(found), *(line for grid, one in found.items() for line in _about(grid, one))]
    return Table(TITLE, LEAD, tuple(sections), tuple(text), data, expected, there)


def _ablated(one: Comparison) -> pd.DataFrame:
    records = one.records
    return records[~records["placer"].isin(ORIGINALS)]


def _section(title: str, one: Comparison, heads: Mapping[str, str]) -> Section:
    """The paper's table: a row a variant, two columns a network."""
    header = ("Variant", *(f"{row.label}{unit}" for row in one.rows for unit in (", ms", ", %")))
    rows = []
    for placer, head in heads.items():
        cells = [head]
        for row in one.rows:
            ours, theirs = one.ours(row, placer), one.theirs(row, placer)
            alone = one.ours(row, "cpu_only").median
            gain = 100 * (1 - ours.median / alone)
            printed = one.theirs(row, f"{placer}_speedup").text
            cells.append(beside(ours.learned_text(MILLISECONDS), ours, theirs))
            cells.append(f"{gain:.1f} ({printed})" if gain == gain else f"missing ({printed})")
        rows.append(tuple(cells))
    return Section(title, header, tuple(rows))


def _words(found: Mapping[str, Comparison]) -> Iterator[str]:
    """What was fitted; what the ablations show, as far as seeds can tell."""
    yield FITTED
    for grid, (_, original, heads) in SECTIONS.items():
        apart = list(_apart(found[grid], original, heads))
        yield (
            f"{TITLES[grid]}: intervals over seeds apart from that of {original}: "
            + ("; ".join(apart) or "none")
            + "."
        )
    yield (
        "The paper gives no spread. GPU-only and OpenVINO-GPU of its Table 2, which may be one"
        " placement, differ by 15, 12 and 2.5 %; its variants by at most 11, 0.3 and 4.5 %. On"
        " Inception-V3 and ResNet no feature's worth can be told from that. Its released code has"
        " the output shape in a comment, so that its `Original` cannot be that code."
    )
    yield (
        "One part after another, the best placement is everything on the GPU, which any policy that"
        " draws it once has found: there, variants can differ only in whether they do."
    )


def _apart(one: Comparison, original: str, heads: Mapping[str, str]) -> Iterator[str]:
    for row in one.rows:
        whole = one.ours(row, original).confidence
        low, high, _ = whole
        for placer, head in heads.items():
            ours = one.ours(row, placer)
            # The ranges of a few seeds are apart by chance too often to say anything.
            if placer in ORIGINALS or whole.is_range or ours.confidence.is_range:
                continue
            if ours.confidence[0] > high or ours.confidence[1] < low:
                word = "slower" if ours.median > high else "faster"
                yield f"{row.label} {head} ({word})"


def _about(grid: str, one: Comparison) -> Iterator[str]:
    """What a grid's records were made with and what is missing."""
    learned = [
        p for p in (*FEATURES, *TUNED) if p != "cpu_only" and (one.records["placer"] == p).any()
    ]
    brackets = f"Square brackets: {seed_intervals(one, *learned)}"
    yield f"Grid `{grid}`: {notes.completeness(one)} {brackets}"
    yield from notes.failures(one.records)
    yield from notes.provenance(one.records)
    yield from notes.code_note(one.records)
