"""The graphs and the machine with which a paper's tables are made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.comparison import Comparison, Pairs, Row
from suite.report.outcome import Printed

FITTED, PREDICTED, HELD_OUT = "fitted", "predicted", "held out"
"""What a cell's published value did to the machine: it was fitted to; to others; or the cell is of
a paper to which nothing but the speed of single devices was fitted."""


def singles_fitted(task: str, placer: str) -> str:
    """The basis where nothing but the speed of single devices was fitted."""
    return FITTED if placer in ("cpu_only", "gpu_only") else PREDICTED


@dataclass(frozen=True)
class World:
    """Tasks, a machine, and what is known of the cells in advance."""

    machine: str
    grids: tuple[str, ...]
    """A cell comes from the first of them that has records of it."""
    basis: Callable[[str, str], str]
    """(the paper's task, placer) -> FITTED, PREDICTED or HELD_OUT."""
    suffix: str = ""
    """What the names of its tasks have behind those of the paper's."""
    marked: bool = False
    """Whether tables say of each cell what is known of it, since not all of a column are alike."""

    def printed(self, published: pd.DataFrame) -> pd.DataFrame:
        """The published numbers, with the names of this world's tasks."""
        return published.assign(task=published["task"] + self.suffix)

    def planned(self, heads: Mapping[str, str]) -> dict[str, str]:
        """Those of some placers, with their heads, that its grids have."""
        there = {cell.placer for grid in self.grids for cell in planned_cells(grid)}
        return {placer: head for placer, head in heads.items() if placer in there}

    def beside(
        self, records: pd.DataFrame, printed: pd.DataFrame, placers: Collection[str]
    ) -> Comparison:
        """Our records of this world beside a table as :meth:`printed` gives it."""
        return Comparison.of(records, printed, placers, self.grids, self.machine)

    def of(self, row: Row, placer: str) -> str:
        """What is known of a cell in advance."""
        return self.basis(row.task.removesuffix(self.suffix), placer)

    def mark(self, row: Row, placer: str, theirs: Printed) -> str:
        """What is printed behind a cell: a letter where a column has cells of several bases.

        Nothing where no time is published that anything could have been fitted to.
        """
        return f" {self.of(row, placer)[0]}" if self.marked and theirs.value > 0 else ""

    def pairs(self, comparison: Comparison, placers: Collection[str], *bases: str) -> Pairs:
        """Ours beside the paper's where the cell is one of ``bases``."""
        return {
            (row.label, placer): (comparison.ours(row, placer), comparison.theirs(row, placer))
            for row in comparison.rows
            for placer in placers
            if self.of(row, placer) in bases
        }
