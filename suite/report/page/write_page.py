"""Write the page: tables as HTML, records and plots as data for its script."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template

import pandas as pd

from suite.core.units import format_count
from suite.formats.atomic import atomic
from suite.report.page.charts import charts, look
from suite.report.page.libraries import asset, in_script, json_text, renderer, vega
from suite.report.page.placements import placements
from suite.report.page.records import (
    COLUMNS,
    Value,
    histories,
    placers,
    record_rows,
    views,
)
from suite.report.page.tables import table_html
from suite.report.table import Table

DRAWINGS = 1_200_000
"""Bytes that drawings of placements may take, whatever else there is: more is slow on a phone."""
FIRST = ("quick", "reference", "race")
"""Grids whose placements are drawn before others': the tables that most readers look for."""


def write_page(
    path: Path,
    tables: Mapping[str, Table],
    records: pd.DataFrame,
    published: pd.DataFrame,
    results: Path,
) -> Path:
    """Write the page with these tables and all records, whole or not at all.

    Drawings of placements that take more than DRAWINGS bytes are left out, those of FIRST last, and
    the page says how many. Links to records and data files are relative to the page.
    """
    whose = placers(records)
    names = [str(one["name"]) for one in whose]
    data: dict[str, Value] = {
        "root": Path(os.path.relpath(results.resolve(), path.parent.resolve())).as_posix() + "/",
        "columns": [*COLUMNS, "path"],
        "records": record_rows(records, results),
        "histories": histories(records),
        "views": views(records, published),
        "placers": [one | style for one, style in zip(whose, look(len(names)), strict=True)],
        "charts": charts(names),
    }
    drawn, missing = placements(records)
    parts = {
        "style": asset("page.css"),
        "records": format_count(len(records), "record"),
        "tables": format_count(len(tables), "table"),
        "contents": "\n".join(_entry(name, table) for name, table in tables.items()),
        "articles": "\n".join(table_html(name, table) for name, table in tables.items()),
        "data": json_text(data),
        "vega": vega(),
        "script": in_script(asset("page.js")),
    }
    kept = _fitting({number: drawn[number] for number in _in_order(drawn, records)}, DRAWINGS)
    about = _about(len(kept), len(drawn), missing)
    text = Template(asset("page.html")).substitute(parts, placements=json_text(kept), about=about)
    with atomic(path) as temporary:
        temporary.write_bytes(text.encode())
    return path


def _entry(name: str, table: Table) -> str:
    return f'<li><a href="#{name}">{escape(table.title)}</a></li>'


def _in_order(drawn: Mapping[str, Value], records: pd.DataFrame) -> list[str]:
    """The numbers of drawn records, those of the grids in FIRST before others."""
    grids = {str(number): grid for number, grid in records["grid"].items()}
    rank = {grid: place for place, grid in enumerate(FIRST)}
    return sorted(drawn, key=lambda number: rank.get(grids[number], len(FIRST)))


def _fitting(drawn: dict[str, Value], room: int) -> dict[str, Value]:
    """The first drawings that together take no more bytes of JSON than ``room``."""
    kept: dict[str, Value] = {}
    for number, drawing in drawn.items():
        room -= len(json_text({number: drawing})) + 1
        if room < 0:
            break
        kept[number] = drawing
    return kept


def _about(drawn: int, wanted: int, missing: Mapping[str, str]) -> str:
    """What of the placements is in the page and what is not, and why."""
    lines = [
        f"Placements: {drawn:,} can be drawn, the fastest seed of every placer on every task,"
        " machine and grid. To draw another one, make a report of a folder with its record alone"
        " (`--results`)."
    ]
    if drawn < wanted:
        lines.append(
            f"{wanted - drawn:,} more are left out, since drawings may take"
            f" {DRAWINGS / 1e6:.1f} MB of the page."
        )
    lines += [f"No map of {what}: {why}." for what, why in missing.items()]
    return "\n".join(f"<li>{renderer()(line)}</li>" for line in lines)
