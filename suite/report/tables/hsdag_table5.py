"""Table 5 of HSDAG (Duan et al., NeurIPS 2024): how long searches take."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import pandas as pd

from suite.report.comparison import Comparison, Row
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes
from suite.report.tables._data import COLUMNS
from suite.report.tables._hsdag import IN_TURN, MACHINE, PAPER, printed_rows, released_alone, spread
from suite.report.until import until

GRIDS = (IN_TURN,)
"""What ``placebench bench hsdag_table5`` runs."""
PLACERS = {
    "placeto": "Placeto",
    "rnn_based": "RNN-based",
    "hsdag": "HSDAG",
    "hsdag_tuned": "HSDAG tuned",
    "hsdag_released": "HSDAG released",
    "annealing": "Annealing",
    "min_cut_exact": "Minimum cut",
}
"""Placer -> its row; the paper has the first three."""
NEAR = 1.001
"""A placement that takes at most so many times the optimum has found it."""
TITLE = "HSDAG, Table 5: how long searches take"
LEAD = f"""\
Processor seconds of a search, a median over seeds [smallest-largest], then in brackets the seconds
published by
{PAPER.format(number=5)}.
Ours are spent on the network and on simulating; theirs also on compiling and running every
placement."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from the records of Table 2's first grid, and all published numbers."""
    one = Comparison.of(records, printed_rows(published, "5"), PLACERS, GRIDS, MACHINE)
    data = pd.DataFrame(_entries(one), columns=COLUMNS)
    sections = _seconds(one), _effort(one)
    return Table(TITLE, LEAD, sections, tuple(_words(one)), data, one.expected, one.found)


def _seconds(one: Comparison) -> Section:
    header = ("Search", *(row.label for row in one.rows))
    rows = [
        (
            head,
            *(
                f"{spread(_known(one, row, placer)['cpu_seconds'], '.0f')}"
                f" ({one.theirs(row, placer).text})"
                for row in one.rows
            ),
        )
        for placer, head in PLACERS.items()
    ]
    return Section("The paper's table", header, tuple(rows))


def _effort(one: Comparison) -> Section:
    """What the seconds were spent on, and when the answer was found."""
    rows = []
    for row in one.rows:
        for placer, head in PLACERS.items():
            mine = _known(one, row, placer)
            optimum = one.bound(row)[0]
            met = int((mine["step_time"] <= NEAR * optimum).sum())
            reached = [until(history, NEAR * optimum) for history in mine["history"]]
            reached = [number for number in reached if isfinite(number)]
            late = [history[-1] for history in mine["history"] if history]
            judged_none = len(mine) > 0 and not late
            rows.append(
                (
                    *(row.label, head, spread(mine["evaluations"], ",.0f")),
                    "-" if judged_none else spread([number for number, _, _ in late], ",.0f"),
                    "-" if judged_none else spread([seconds for _, seconds, _ in late], ".1f"),
                    f"{met} of {len(mine)}",
                    spread(reached, ",.0f") if reached else "-",
                )
            )
    header = (
        *("Network", "Search", "placements judged", "its best found at", "after s (wall)"),
        *("seeds that found the optimum", "after placements"),
    )
    lead = "The optimum is the minimum cut's; within 0.1 % counts as found."
    return Section("Until the best was found", header, tuple(rows), lead)


def _known(one: Comparison, row: Row, placer: str) -> pd.DataFrame:
    records = one.of_cell(row, placer)
    return records[records["status"] == "ok"]


def _entries(one: Comparison) -> Iterator[dict[str, object]]:
    for row in one.rows:
        for placer in PLACERS:
            values = _known(one, row, placer)["cpu_seconds"]
            theirs = one.theirs(row, placer)
            yield {
                **{"task": row.task, "gpus": row.gpus, "column": placer, "unit": "s"},
                **{"metric": "cpu_seconds", "n": len(values), "value": values.median()},
                **{"low": values.min(), "high": values.max(), "published": theirs.digits},
                "published_status": theirs.status,
            }


def _words(one: Comparison) -> Iterator[str]:
    yield notes.completeness(one)
    yield (
        "The paper does not say how many placements were run. 100 episodes of 20, each compiled"
        " (0.7 to 9 s here, by the number of parts) and inferred ten times, would be 2,000 in 1,047"
        " to 2,765 s, or 0.5 to 1.4 s each: compiling fits in that only where placements have few"
        " parts."
    )
    yield (
        "Under `hetero` a minimum cut is exact and takes a fraction of a second; annealing judges"
        " as many placements as any search here."
    )
    yield (
        "Processor seconds hardly depend on what else a host did; seconds on the clock (wall) do,"
        " and some searches ran beside others: after how many placements the best was found"
        " compares better."
    )
    yield from released_alone(one.records)
    yield from notes.failures(one.records)
    yield from notes.hosts(one.records)
    yield from notes.provenance(one.records)
    yield from notes.code_note(one.records)
