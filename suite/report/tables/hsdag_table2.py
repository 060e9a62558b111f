"""Table 2 of HSDAG (Duan et al., NeurIPS 2024): inference on a CPU and a GPU, by two semantics."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.outcome import Outcome, beside, best_of
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
    released_alone,
)
from suite.report.tables._intervals import seed_intervals

GRIDS = (IN_TURN, SIDE_BY_SIDE)
"""What ``placebench bench hsdag_table2`` runs."""
LEARNED = {
    "placeto": "Placeto [3]",
    "rnn_based": "RNN-based [3]",
    "hsdag": "HSDAG",
    "hsdag_tuned": "HSDAG tuned",
    "hsdag_released": "HSDAG released",
}
PLACERS = {
    "cpu_only": "CPU-only [1]",
    "gpu_only": "GPU-only [1]",
    "openvino_cpu": "OpenVINO-CPU [4]",
    "openvino_gpu": "OpenVINO-GPU [4]",
    "min_cut_exact": "Minimum cut [2]",
    "annealing": "Annealing",
    **LEARNED,
}
"""Placer -> its head; the paper has all but the minimum cut, annealing and HSDAG's variants."""
TITLE = "HSDAG, Table 2: inference on a CPU and a GPU"
LEAD = f"""\
Milliseconds of one inference; lower is better. Each cell: ours, simulated, then in brackets the
value published by
{PAPER.format(number=2)},
and ours / published. The first section is judged as the paper's own runs were: OpenVINO's HETERO
plugin infers the parts of a network one after another, so that CPU and GPU never work at the same
time. The second lets them."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    printed = printed_rows(published, "2")
    found = {grid: Comparison.of(records, printed, PLACERS, (grid,), MACHINE) for grid in GRIDS}
    sections = [_section(TITLES[grid], one) for grid, one in found.items()]
    data = pd.concat([long_form(one, list(PLACERS)) for one in found.values()], ignore_index=True)
    text = [*_notes(), *_optimum(found[IN_TURN]), _cells(found[IN_TURN])]
    text += released_alone(pd.concat([one.records for one in found.values()]))
    text += [line for grid, one in found.items() for line in _about(grid, one)]
    expected, there = (
        sum(getattr(one, name) for one in found.values()) for name in ("expected", "found")
    )
    return Table(TITLE, LEAD, tuple(sections), tuple(text), data, expected, there)


def _section(title: str, one: Comparison) -> Section:
    header = ("Tasks", *PLACERS.values(), "Lower bound", "HSDAG over it")
    rows = []
    for row in one.rows:
        ours = {placer: one.ours(row, placer) for placer in PLACERS}
        best = best_of(ours, MILLISECONDS)
        cells = [
            beside(_text(placer, outcome), outcome, one.theirs(row, placer), placer == best)
            for placer, outcome in ours.items()
        ]
        rows.append((row.label, *cells, *_bound(one, row)))
    return Section(title, header, tuple(rows))


def _text(placer: str, ours: Outcome) -> str:
    return (ours.learned_text if placer in LEARNED else ours.text)(MILLISECONDS)


def _bound(one: Comparison, row: Row) -> Iterator[str]:
    """The bound and what gives it, and how far above it HSDAG is."""
    bound, kind = one.bound(row)
    known = bound == bound
    yield f"{MILLISECONDS.format(bound)} ({kind})" if known else "missing"
    ratio = one.ours(row, "hsdag").median / bound if known else bound
    yield f"{100 * (ratio - 1):+.1f} %" if ratio == ratio else "missing"


def _notes() -> tuple[str, ...]:
    return (
        FITTED,
        "Under `hetero` a step takes the sum of its operations and transfers, and a minimum cut is"
        " the optimum, which is also the bound. Side by side it is only the same placement, judged"
        " otherwise.",
        "Placeto and the RNN-based placer choose devices for the nodes of HSDAG's coarsened graph"
        " (Placeto for the 128 that are left when the cheapest are merged). ColocRL's groups, which"
        " both papers have, leave one node of ResNet-50 and Inception-V3 and three of BERT. What"
        " the paper placed with them is unknown, and so are the RNN's settings.",
        "What HETERO chooses by itself with that device first in its list. All operations have"
        " kernels on both, so these are the placements CPU-only and GPU-only once more. The paper's"
        " times differ by 0 to 46 % between them (5 runs a cell, no spread given), while its HSDAG"
        " is 12.5, 1.9 and 3.6 % faster than the better single device: whether the gains on ResNet"
        " and BERT are placement or noise cannot be decided.",
    )


def _cells(one: Comparison) -> str:
    """What the cells of several seeds hold, and what is bold."""
    return (
        "Learned cells: the median over seeds, the best seed and the number of valid ones; in"
        f" square brackets {seed_intervals(one, *LEARNED)} Annealing: the median, and the fastest"
        " and slowest seed. Bold: faster than every other column, with no overlap between the"
        " ranges over seeds."
    )


def _optimum(one: Comparison) -> Iterator[str]:
    """Where everything on the GPU is the proven optimum."""
    names = [
        row.label
        for row in one.rows
        if one.ours(row, "gpu_only").median <= (1 + 1e-6) * one.bound(row)[0]
    ]
    if names:
        yield (
            f"One part after another, everything on the GPU is the proven optimum of"
            f" {', '.join(names)}. To be faster there takes operations that the CPU does faster"
            " than the GPU; with one speed for each device, as here, there are none."
        )


def _about(grid: str, one: Comparison) -> Iterator[str]:
    """What each grid's records were made with and what is missing."""
    yield f"Grid `{grid}`: {notes.completeness(one)} {notes.effort(one, LEARNED)}"
    yield from notes.failures(one.records)
    yield from notes.provenance(one.records)
    yield from notes.code_note(one.records)
