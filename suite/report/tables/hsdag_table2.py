"""Table 2 of HSDAG (Duan et al., NeurIPS 2024): inference on a CPU and a GPU, by two semantics."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.metrics import Metric
from suite.report.outcome import Outcome, beside, best_of
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._data import long_form

GRIDS = ("hsdag", "hsdag_concurrent")
"""What ``placebench bench hsdag_table2`` runs."""
MACHINE = "flex170_scaled"
FITTED = ("cpu_only", "gpu_only")
LEARNED = {
    "placeto": "Placeto",
    "hsdag": "HSDAG",
    "hsdag_tuned": "HSDAG tuned",
    "hsdag_released": "HSDAG released",
}
PLACERS = {
    "cpu_only": "CPU-only [1]",
    "gpu_only": "GPU-only [1]",
    "min_cut_exact": "Minimum cut [2]",
    "annealing": "Annealing",
    **LEARNED,
}
"""Placer -> its head; published are the times of CPU-only, GPU-only, Placeto and HSDAG."""
ONLY_PRINTED = {
    "openvino_cpu": "OpenVINO-CPU",
    "openvino_gpu": "OpenVINO-GPU",
    "rnn_based": "RNN-based",
}
MILLISECONDS = Metric("step_time", "latency", "s", "lower", ".3f", 1e-3)
TITLE = "HSDAG, Table 2: inference on a CPU and a GPU"
LEAD = """\
Milliseconds of one inference; lower is better. Each cell: ours, simulated, then in brackets the
value published by HSDAG (Duan et al., A Structure-Aware Framework for Learning Device Placements on
Computation Graphs, NeurIPS 2024, Table 2) and ours / published. The first section is judged as the
paper's own runs were: OpenVINO's HETERO plugin infers the parts of a network one after another, so
that CPU and GPU never work at the same time. The second lets them."""
TITLES = {
    "hsdag": "One part after another (semantics `hetero`)",
    "hsdag_concurrent": "Side by side (semantics `placebench`)",
}


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    printed = published[(published["paper"] == "HSDAG") & (published["table"] == "2")].copy()
    seconds = printed["unit"] == "s"
    printed.loc[seconds, "printed"] = [_in_ms(digits) for digits in printed[seconds]["printed"]]
    found = {grid: Comparison.of(records, printed, PLACERS, (grid,), MACHINE) for grid in GRIDS}
    sections = [_section(TITLES[grid], one) for grid, one in found.items()]
    sections.append(_published_only(next(iter(found.values()))))
    data = pd.concat([long_form(one, list(PLACERS)) for one in found.values()], ignore_index=True)
    text = [*_notes(), *(line for grid, one in found.items() for line in _about(grid, one))]
    expected, there = (
        sum(getattr(one, name) for one in found.values()) for name in ("expected", "found")
    )
    return Table(TITLE, LEAD, tuple(sections), tuple(text), data, expected, there)


def _in_ms(digits: str) -> str:
    """Seconds as printed, in milliseconds, with as many digits."""
    if not digits:
        return ""
    places = len(digits.partition(".")[2]) - 3
    return f"{1e3 * float(digits):.{max(places, 0)}f}"


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


def _published_only(one: Comparison) -> Section:
    header = ("Tasks", *ONLY_PRINTED.values())
    rows = [
        (row.label, *(one.theirs(row, column).text for column in ONLY_PRINTED)) for row in one.rows
    ]
    return Section("Published only", header, tuple(rows))


def _notes() -> tuple[str, ...]:
    return (
        "CPU-only and GPU-only are **fitted**: times on `flex170_scaled` were multiplied for each"
        " network and device until these cells came out (benchmarks/fit_flex170.py), since"
        " no one set of constants gives all six. All other cells are predictions.",
        "Under `hetero` a step takes the sum of its operations and transfers, and a minimum cut is"
        " the optimum, which is also the bound. Side by side it is only the same placement, judged"
        " otherwise.",
        "The paper gives no spread (5 runs a cell). Its OpenVINO-CPU and OpenVINO-GPU differ from"
        " its CPU-only and GPU-only by 0 to 46 %, though they might be the same placements; HSDAG"
        " is 12.5, 1.9 and 3.6 % faster than the better single device.",
    )


def _about(grid: str, one: Comparison) -> Iterator[str]:
    """What each grid's records were made with and what is missing."""
    yield f"Grid `{grid}`: {notes.completeness(one)} {notes.effort(one, LEARNED)}"
    yield from notes.failures(one.records)
    yield from notes.provenance(one.records)
    yield from notes.code_note(one.records)
