"""The grids that a table is made from."""

from __future__ import annotations

import importlib
from pathlib import Path

from suite.bench.grid import Grid, known_grids, load_grid
from suite.core.errors import InputError
from suite.search.registry import modules, unknown


def load_grids(
    name_or_path: str,
    seed: int | None = None,
    machine: str | None = None,
    gpus: int | None = None,
) -> Grid:
    """Read a grid as :func:`load_grid` does or, for a table's name, all grids it is made from.

    A table's grids run from the one it takes last to the one it takes first, so that it is filled
    early. Raises InputError as :func:`load_grid` does.
    """
    tables, grids = modules("suite.report.tables"), known_grids()
    if name_or_path in grids or Path(name_or_path).suffix == ".toml":
        return load_grid(name_or_path, seed, machine, gpus)
    if name_or_path not in tables:
        raise unknown(name_or_path, "grid or table", {*grids, *tables})
    table = importlib.import_module(f"suite.report.tables.{name_or_path}")
    if not hasattr(table, "GRIDS"):
        raise InputError(f"table {name_or_path} is not made from a grid; see placebench --help")
    parts = [load_grid(grid, seed, machine, gpus) for grid in reversed(table.GRIDS)]
    return Grid(name_or_path, tuple(job for part in parts for job in part.jobs))
