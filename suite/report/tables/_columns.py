"""Columns of what was measured, a backend each, beside the simulated ones of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from suite.bench.grid import planned_cells
from suite.report.comparison import Comparison
from suite.report.measured_data import for_real


def backends(records: pd.DataFrame, grids: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Head, such as ``session on my_gpus`` -> records of a backend and machine.

    They are of the first of ``grids`` that was run there; empty where none was run for real. What a
    host with fewer GPUs than a task wants has run stands beside no figure of this table.
    """
    real, found = for_real(records), {}
    for (backend, machine), part in real.groupby(["backend", "machine"]):
        for grid in grids:
            mine = part[part["grid"] == f"{grid}@{backend}"]
            wanted = {(cell.task, cell.gpus) for cell in planned_cells(grid)}
            tasks = zip(mine["task"], mine["gpus"], strict=True)
            mine = mine[np.array([task in wanted for task in tasks], np.bool_)]
            if len(mine):
                found[f"{backend} on {machine}"] = mine
                break
    return found


def comparisons(
    records: pd.DataFrame, printed: pd.DataFrame, grids: Sequence[str]
) -> dict[str, Comparison]:
    """Head -> the records of :func:`backends` beside the paper's rows."""
    return {head: _beside(mine, printed) for head, mine in backends(records, grids).items()}


def _beside(records: pd.DataFrame, printed: pd.DataFrame) -> Comparison:
    grid, machine = str(records["grid"].iloc[0]), str(records["machine"].iloc[0])
    planned = planned_cells(grid.rpartition("@")[0])
    cells = tuple(replace(cell, grid=grid, machine=machine) for cell in planned)
    return Comparison(records, printed, cells)


def about(found: dict[str, pd.DataFrame]) -> list[str]:
    """A note on the columns, where there are any."""
    if not found:
        return []
    origins = [
        f"{head}, grid `{records['grid'].iloc[0]}`{', virtual' * bool(records['virtual'].any())}"
        for head, records in found.items()
    ]
    return [
        f"Measured columns: {'; '.join(origins)}. The step times beside them are simulated on this"
        " table's machine; `measured.md` has those of the machine that was measured."
    ]
