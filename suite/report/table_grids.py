"""The grids that a table is made from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from suite.bench.grid import Grid, known_grids, load_grid
from suite.core.errors import InputError
from suite.search.registry import load, modules, unknown


def load_grids(
    name_or_path: str,
    seed: int | None = None,
    machine: str | None = None,
    gpus: int | None = None,
) -> Grid:
    """Read a grid as :func:`load_grid` does or, for a table's name, all grids it is made from.

    A table's grids run from the one it takes last to the one it takes first, so that it is filled
    early. Raises InputError as :func:`load_grid` does, and as :func:`grids_of`.
    """
    tables, grids = modules("suite.report.tables"), known_grids()
    if name_or_path in grids or Path(name_or_path).suffix == ".toml":
        return load_grid(name_or_path, seed, machine, gpus)
    if name_or_path not in tables:
        raise unknown(name_or_path, "grid or table", {*grids, *tables})
    of = grids_of(name_or_path)
    if not of:
        raise InputError(f"table {name_or_path} is not made from a grid; see placebench --help")
    if missing := [grid for grid in of if grid not in grids]:
        raise InputError(
            f"table {name_or_path} is of grid {missing[0]!r}, of which suite/grids has no file;"
            " add it, or run a file of yours by its path"
        )
    parts = [load_grid(grid, seed, machine, gpus) for grid in reversed(of)]
    return Grid(name_or_path, tuple(job for part in parts for job in part.jobs))


def grids_of(table: str) -> Sequence[str]:
    """The grids that a table says it is of: all its records, unless it is empty.

    InputError where its module cannot be imported, or says so otherwise than by their names.
    """
    grids: object = getattr(load(f"suite.report.tables.{table}"), "GRIDS", ())
    if isinstance(grids, list | tuple) and all(isinstance(grid, str) for grid in grids):
        return grids
    raise InputError(f"table {table}: GRIDS is {grids!r}; give a tuple of the names of grids")
