"""A report's table as HTML: sections that can be sorted and filtered, and their notes."""

from __future__ import annotations

import math
import re
from html import escape

from suite.report.page.libraries import renderer
from suite.report.table import PrintedCell, Section, Table

_NUMBER = re.compile(r"^[*x<~ ]*(-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)")
"""A number at the front of a printed cell, in bold or as a ratio too."""
_NOTE = re.compile(r"\[(\d+)\]")


def table_html(name: str, table: Table) -> str:
    """The table ``name`` of the report as an article, which is folded until it is asked for."""
    sections = "\n".join(_section(name, i, s) for i, s in enumerate(table.sections))
    notes = "\n".join(
        f'<li id="{name}-note-{i}">{renderer()(note)}</li>' for i, note in enumerate(table.notes, 1)
    )
    count = f"{table.found:,} of {table.expected:,} records"
    return f"""<details class="report" id="{name}">
<summary><h3>{escape(table.title)}</h3> <span class="count">{count}</span></summary>
<p>{renderer()(table.lead)}</p>
{sections}
<h4>Notes</h4>
<ol class="notes">
{notes}
</ol>
<p>Data: <a href="{name}.csv">{name}.csv</a>, with all digits.</p>
</details>"""


def _section(table: str, number: int, section: Section) -> str:
    """A grid of printed cells under its own filter."""
    at = f"{table}-{number}"
    lead = f"<p>{renderer()(section.lead)}</p>" if section.lead else ""
    heads = "".join(_head(table, text) for text in section.header)
    rows = "\n".join(_row(row) for row in section.rows)
    return f"""<section aria-labelledby="{at}">
<h4 id="{at}">{escape(section.title)}</h4>
{lead}
<div class="scroll" tabindex="0" role="region" aria-labelledby="{at}">
<table class="sortable" aria-labelledby="{at}">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
</section>"""


def _head(table: str, text: str) -> str:
    """A head that sorts; the notes it refers to stand beside the button."""
    notes = "".join(
        f'<a class="note" href="#{table}-note-{n}" aria-label="note {n}">[{n}]</a>'
        for n in _NOTE.findall(text)
    )
    words = escape(_NOTE.sub("", text).strip()) or "&nbsp;"
    return f'<th scope="col" aria-sort="none"><button type="button">{words}</button>{notes}</th>'


def _row(cells: tuple[str, ...]) -> str:
    first = f'<th scope="row">{renderer()(cells[0])}</th>'
    return f"<tr>{first}{''.join(map(_cell, cells[1:]))}</tr>"


def _cell(cell: str) -> str:
    details = cell.details if isinstance(cell, PrintedCell) else ()
    value = sort_value(cell)
    known = f' data-value="{value:.6g}"' if math.isfinite(value) else ""
    more = f' data-details="{escape(chr(10).join(details))}"' if details else ""
    return f"<td{known}{more}>{renderer()(cell)}</td>"


def sort_value(cell: str) -> float:
    """By which a cell is sorted: what it knows, else the number it begins with, else NaN."""
    if isinstance(cell, PrintedCell):
        return cell.value
    found = _NUMBER.match(cell)
    return float(found[1].replace(",", "")) if found else math.nan
