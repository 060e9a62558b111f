"""Our records beside one table of one paper: rows of (task, GPUs), a column a placer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import pandas as pd

from suite.bench.cell import Cell
from suite.bench.grid import planned_cells
from suite.report.outcome import NOT_GIVEN, Outcome, Printed

Pairs = dict[tuple[str, str], tuple[Outcome, Printed]]
"""(row label, placer) -> ours and the paper's."""
Key = tuple[str, int, str]
"""Task, GPUs, placer."""


@dataclass(frozen=True)
class Row:
    """A row of the paper's table."""

    task: str
    gpus: int
    model: str
    """The task's name as printed."""
    label: str
    """The row's name: the task's, with the GPUs where it has several rows."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The records a table is made of, and the published rows they stand beside."""

    records: pd.DataFrame
    """Rows of :func:`suite.report.load_records.load_records`, of one machine; those of one row and
    placer are all of one grid."""
    printed: pd.DataFrame
    """Rows of :func:`suite.report.load_records.load_published`, of one table of one paper."""
    cells: tuple[Cell, ...]
    """The cells that should have a record."""

    @classmethod
    def of(
        cls,
        records: pd.DataFrame,
        printed: pd.DataFrame,
        placers: Collection[str],
        grids: Sequence[str],
        machine: str,
    ) -> Comparison:
        """Keep the records of ``placers`` on ``machine`` that belong to a row of ``printed``.

        Each row and placer is served by the first of ``grids`` that has a record of it or, where
        none has, by the first that plans one. InputError when there is no such grid.
        """
        wanted = {(row.task, row.gpus, placer) for row in _rows(printed) for placer in placers}
        recorded = [Cell(*key) for key in zip(*(records[c] for c in _CELL), strict=True)]
        planned = [cell for grid in grids for cell in planned_cells(grid)]
        source: dict[Key, str] = {}
        for cells in (recorded, planned):
            for grid in grids:
                here = [_key(c) for c in cells if (c.grid, c.machine) == (grid, machine)]
                source |= {key: grid for key in here if key in wanted and key not in source}

        def serves(cell: Cell) -> bool:
            return cell.machine == machine and source.get(_key(cell)) == cell.grid

        kept = pd.Series([serves(cell) for cell in recorded], records.index, dtype=bool)
        return cls(records[kept], printed, tuple(cell for cell in planned if serves(cell)))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The paper's rows, in its order."""
        return _rows(self.printed)

    @cached_property
    def models(self) -> tuple[Row, ...]:
        """One row for each task: the first with a record or, where none has, the first."""
        chosen: dict[str, Row] = {}
        for row in self.rows:
            known = chosen.setdefault(row.task, row)
            if self.of_row(known).empty and not self.of_row(row).empty:
                chosen[row.task] = row
        return tuple(chosen.values())

    def of_row(self, row: Row) -> pd.DataFrame:
        """The records of one row."""
        return self._by_row.get((row.task, row.gpus), self.records.iloc[:0])

    def of_cell(self, row: Row, placer: str) -> pd.DataFrame:
        """The records of a placer in a row, a record a seed."""
        return self._by_key.get((row.task, row.gpus, placer), self.records.iloc[:0])

    def ours(self, row: Row, placer: str) -> Outcome:
        """What became of a placer in a row."""
        key = row.task, row.gpus, placer
        if key not in self._ours:
            self._ours[key] = Outcome.of(self.of_cell(row, placer), self._expected[key])
        return self._ours[key]

    def theirs(self, row: Row, column: str) -> Printed:
        """What the paper prints there; a value it prints for all GPU counts serves every row."""
        of_row, of_all = (row.task, row.gpus, column), (row.task, 0, column)
        return self._theirs.get(of_row) or self._theirs.get(of_all) or NOT_GIVEN

    def pairs(self, *placers: str) -> Pairs:
        """Ours beside the paper's for the named placers."""
        return {
            (row.label, placer): (self.ours(row, placer), self.theirs(row, placer))
            for row in self.rows
            for placer in placers
        }

    def graph(self, row: Row) -> Mapping[str, Any]:
        """The facts about the row's graph (the records share it); empty without a record."""
        return next((graph for graph in self.of_row(row)["graph"] if graph), {})

    def bound(self, row: Row) -> tuple[float, str]:
        """The largest proven lower bound in seconds and what binds; NaN and empty without one."""
        known = self.of_row(row).dropna(subset=["lower_bound"])
        bounds = zip(known["lower_bound"], known["bound_kind"], strict=True)
        return max(((float(b), str(kind)) for b, kind in bounds), default=(nan, ""))

    @property
    def expected(self) -> int:
        """Records the table needs."""
        return len(self.cells)

    @property
    def found(self) -> int:
        """Records it has of those."""
        return self.expected - len(self.missing)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Names of the cells without a record."""
        found = {Cell(*key) for key in zip(*(self.records[c] for c in _CELL), strict=True)}
        return tuple(cell.name for cell in self.cells if cell not in found)

    # Every section asks for the same cells again: what pandas finds is kept.

    @cached_property
    def _by_row(self) -> dict[tuple[str, int], pd.DataFrame]:
        return _parts(self.records, ["task", "gpus"])

    @cached_property
    def _by_key(self) -> dict[Key, pd.DataFrame]:
        return _parts(self.records, ["task", "gpus", "placer"])

    @cached_property
    def _expected(self) -> Counter[Key]:
        return Counter(_key(cell) for cell in self.cells)

    @cached_property
    def _ours(self) -> dict[Key, Outcome]:
        return {}

    @cached_property
    def _theirs(self) -> dict[Key, Printed]:
        rows = (row for _, row in self.printed.iterrows())
        return {(row["task"], row["gpus"], row["column"]): Printed.in_row(row) for row in rows}


_CELL = ("grid", "machine", "gpus", "task", "placer", "seed")


def _key(cell: Cell) -> Key:
    return cell.task, cell.gpus, cell.placer


def _parts(records: pd.DataFrame, columns: list[str]) -> dict[Any, pd.DataFrame]:
    """The records with the same values in these columns, in their order."""
    return dict(iter(records.groupby(columns, sort=False)))


def _rows(printed: pd.DataFrame) -> tuple[Row, ...]:
    pairs = printed[printed["gpus"] > 0].drop_duplicates(["task", "gpus"])
    columns = (pairs["task"], pairs["gpus"], pairs["printed_task"])
    several = pairs["task"].duplicated(keep=False)
    return tuple(
        Row(str(t), int(g), str(p), f"{p}, {g} GPUs" if more else str(p))
        for t, g, p, more in zip(*columns, several, strict=True)
    )
