"""Our records beside one table of one paper: rows of (task, GPUs), a column a placer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import Any

import pandas as pd

from suite.outcome import Outcome, Printed

Pairs = dict[tuple[str, str], tuple[Outcome, Printed]]
"""(row label, placer) -> ours and the paper's."""


@dataclass(frozen=True)
class Row:
    """A row of the paper's table."""

    task: str
    gpus: int
    label: str
    """The task's name as printed."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The records a table is made of, and the published rows they stand beside."""

    records: pd.DataFrame
    """Rows of :func:`suite.frame.load_records`, of one grid and one machine."""
    printed: pd.DataFrame
    """Rows of :func:`suite.frame.load_published`, of one table of one paper."""
    seeds: Mapping[str, int]
    """Placer -> records it should have in each row."""

    @classmethod
    def of(
        cls,
        records: pd.DataFrame,
        printed: pd.DataFrame,
        seeds: Mapping[str, int],
        grid: str,
        machine: str,
    ) -> Comparison:
        """Keep the records of ``grid`` and ``machine`` that belong to a row of ``printed``."""
        ours = records[(records["grid"] == grid) & (records["machine"] == machine)]
        whole = cls(ours, printed, seeds)
        wanted = {(row.task, row.gpus) for row in whole.rows}
        keep = [pair in wanted for pair in zip(ours["task"], ours["gpus"], strict=True)]
        return cls(ours[pd.Series(keep, ours.index, dtype=bool)], printed, seeds)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The paper's rows, in its order."""
        pairs = self.printed[self.printed["gpus"] > 0].drop_duplicates(["task", "gpus"])
        columns = (pairs["task"], pairs["gpus"], pairs["printed_task"])
        return tuple(Row(str(t), int(g), str(p)) for t, g, p in zip(*columns, strict=True))

    def of_row(self, row: Row) -> pd.DataFrame:
        """The records of one row."""
        mine = (self.records["task"] == row.task) & (self.records["gpus"] == row.gpus)
        return self.records[mine]

    def ours(self, row: Row, placer: str) -> Outcome:
        """What became of a placer in a row."""
        mine = self.of_row(row)
        return Outcome.of(mine[mine["placer"] == placer], self.seeds.get(placer, 0))

    def theirs(self, row: Row, column: str) -> Printed:
        """What the paper prints there; a value it prints for all GPU counts serves every row."""
        counts = self.printed["gpus"].isin([0, row.gpus])
        return Printed.of(self.printed[counts], row.task, column)

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

    @cached_property
    def expected(self) -> int:
        """Records the table needs."""
        return len(self.rows) * sum(self.seeds.values())

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Names of the records that are not there."""
        columns = ("task", "gpus", "placer", "seed")
        found = set(zip(*(self.records[c] for c in columns), strict=True))
        return tuple(
            f"{row.gpus}gpu/{row.task}/{placer}/seed{seed}"
            for row in self.rows
            for placer, seeds in self.seeds.items()
            for seed in range(seeds)
            if (row.task, row.gpus, placer, seed) not in found
        )
