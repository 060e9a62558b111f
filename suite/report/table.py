"""What a table file returns: sections of printed cells, notes, and the same data in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from numbers import Integral

import pandas as pd


class PrintedCell(str):
    """A printed cell that knows what is behind it, for pages that can sort and explain."""

    value: float
    """By which a column is sorted; NaN where the cell has no number."""
    details: tuple[str, ...]
    """A line each: more than there is room to print."""

    def __new__(cls, text: str, value: float = nan, details: Sequence[str] = ()) -> PrintedCell:
        """Print ``text``."""
        cell = super().__new__(cls, text)
        cell.value, cell.details = value, tuple(details)
        return cell

    def __add__(self, more: str) -> PrintedCell:
        """The cell with ``more`` behind it."""
        return PrintedCell(str(self) + more, self.value, self.details)


@dataclass(frozen=True)
class Section:
    """One grid of printed cells."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lead: str = ""
    """A sentence or two above the grid: how to read it."""
    shown: bool = False
    """Whether a terminal shows it, under its title; the first where none is."""

    def __post_init__(self) -> None:
        """Refuse ragged rows, and cells that are no text."""
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"{self.title}: {len(row)} cells under {len(self.header)} heads")
            for cell in row:
                if not isinstance(cell, str):
                    raise TypeError(f"{self.title}: a cell is {cell!r}, no text; format it")

    def markdown(self) -> str:
        """The grid as a Markdown table whose columns also line up as plain text."""
        lines = [[cell.replace("|", "\\|") for cell in row] for row in (self.header, *self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        text = [_line(line, widths) for line in lines]
        rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
        return "\n".join([text[0], rule, *text[1:]])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


@dataclass(frozen=True)
class Table:
    """A page of the report: ``reports/NAME.md`` and ``reports/NAME.csv``."""

    title: str
    lead: str
    """What it is, in a paragraph."""
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    """Caveats, numbered from 1; printed cells and heads refer to them as ``[1]``."""
    data: pd.DataFrame
    """The table's numbers in long form, full precision, one a row."""
    expected: int
    """Records the table needs."""
    found: int
    """Records it has."""

    def __post_init__(self) -> None:
        """Refuse what could not be written: TypeError names it, ValueError an empty page."""
        for name, kind in _MEMBERS.items():
            _check(name, getattr(self, name), kind)
        for name, kind in _SEVERAL.items():
            given = getattr(self, name)
            if isinstance(given, str) or not isinstance(given, Sequence):
                found = type(given).__name__
                raise TypeError(f"{name} is of type {found}; give a tuple of {kind.__name__}")
            for one in given:
                _check(f"one of {name}", one, kind)
        if self.found and not self.sections:
            raise ValueError("there are records and no sections; give one or more")

    def markdown(self) -> str:
        """The page."""
        parts = [f"# {self.title}", self.lead]
        for section in self.sections:
            parts += [f"## {section.title}", section.lead, section.markdown()]
        notes = "\n".join(f"{i}. {note}" for i, note in enumerate(self.notes, 1))
        return "\n\n".join(part for part in [*parts, "## Notes", notes] if part) + "\n"

    def text(self) -> str:
        """What a terminal shows: the sections that are to be shown, or the first."""
        shown = [f"{one.title}\n\n{one.markdown()}" for one in self.sections if one.shown]
        return "\n\n".join([self.title, *(shown or [self.sections[0].markdown()])]) + "\n"

    def csv(self) -> str:
        """The data, floats with all their digits."""
        return str(self.data.to_csv(index=False, lineterminator="\n"))


_MEMBERS = {
    "title": str,
    "lead": str,
    "data": pd.DataFrame,
    "expected": Integral,
    "found": Integral,
}
"""Of what type a table's members are."""
_SEVERAL = {"sections": Section, "notes": str}
"""Of what type each of those is of which there are several."""


def _check(name: str, given: object, kind: type) -> None:
    if not isinstance(given, kind):
        wanted = "a whole number" if kind is Integral else kind.__name__
        raise TypeError(f"{name} is of type {type(given).__name__}; give {wanted}")
