"""Table 1 of HSDAG (Duan et al., NeurIPS 2024): operations and edges of its graphs."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd

from suite.report.outcome import Printed
from suite.report.table import Section, Table
from suite.report.tables import _notes as notes

GRIDS = ("hsdag_table1",)
"""What ``placebench bench hsdag_table1`` runs; records of the same tasks in other grids serve, too.
"""
AIMS = {"hsdag_inception_v3": 0.005, "hsdag_resnet50": 0.0, "hsdag_bert": 0.03}
"""Task -> how far from the paper's a count may be, as a share of it."""
COUNTS = {"operations": "ops", "edges": "edges"}
"""What the paper counts, and its name in a record."""

TITLE = "HSDAG, Table 1: its graphs"
LEAD = """\
Operations and edges of each graph. Each cell: ours, then in brackets the value published by HSDAG
(Duan et al., A Structure-Aware Framework for Learning Device Placements on Computation Graphs,
NeurIPS 2024, Table 1) and by how much ours is off."""


def table(records: pd.DataFrame, published: pd.DataFrame) -> Table:
    """Build the page from all records and all published numbers."""
    printed = published[(published["paper"] == "HSDAG") & (published["table"] == "1")]
    known = ["edges" in graph for graph in records["graph"]]
    counted = records[pd.Series(known, records.index, dtype=bool)]
    first = counted[counted["task"].isin(AIMS)].drop_duplicates("task")
    graphs = dict(zip(first["task"], first["graph"], strict=True))
    entries = [
        entry
        for task in dict.fromkeys(printed["task"])
        for entry in _entries(task, printed, graphs.get(task, {}))
    ]
    data = pd.DataFrame(entries)
    return Table(TITLE, LEAD, (_counts(printed, data),), _notes(first), data, len(AIMS), len(first))


def _entries(task: str, printed: pd.DataFrame, graph: dict[str, Any]) -> list[dict[str, Any]]:
    """What the paper prints of a graph beside ours, a number each; NaN where there is no record.

    The third number, edges per operation, follows from the others.
    """
    ours = {column: float(graph.get(name, nan)) for column, name in COUNTS.items()}
    ours["degree"] = ours["edges"] / ours["operations"]
    rows = []
    for column, value in ours.items():
        theirs = Printed.of(printed, task, column)
        off = {"off": value / theirs.value - 1, "published": theirs.digits}
        rows.append({"task": task, "column": column, "value": value, **off})
    return rows


def _counts(printed: pd.DataFrame, data: pd.DataFrame) -> Section:
    header = ("Graph", "operations", "edges", "edges per operation", "aim", "met")
    names = dict(zip(printed["task"], printed["printed_task"], strict=True))
    rows = []
    for task, found in data.groupby("task", sort=False):
        columns = (found[name] for name in ("column", "value", "off", "published"))
        cells = [_cell(*row) for row in zip(*columns, strict=True)]
        counts = found[found["column"].isin(COUNTS)]["off"]
        aim = AIMS[str(task)]
        met = "-" if counts.isna().any() else "yes" if (counts.abs() <= aim).all() else "no"
        words = f"within {100 * aim:g} %" if aim else "exact"
        rows.append((names[task], *cells, words, met))
    return Section("The paper's table", header, tuple(rows))


def _cell(column: str, value: float, off: float, published: str) -> str:
    if pd.isna(value):
        return f"missing ({published})"
    if column == "degree":
        return f"{value:.2f} ({published})"
    words = "exact" if off == 0 else f"{100 * off:+.1f} %"
    return f"{value:,.0f} ({int(published):,}, {words})"


def _notes(records: pd.DataFrame) -> tuple[str, ...]:
    chosen = [
        f"{graph['name']}: {'; '.join(graph['choices'])}."
        for graph in records["graph"]
        if graph.get("choices")
    ]
    return (
        "Counted as in OpenVINO's IR with weights stored as float16: inputs, outputs and constants"
        " are operations, and so is what converts each stored constant back. The paper does not say"
        " how it counts; of the ways that were tried, this one gives its numbers.",
        *chosen,
        *notes.provenance(records),
        *notes.code_note(records),
    )
