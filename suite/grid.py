"""Grids: which placers x tasks x machines x seeds, from ``suite/grids/*.toml`` or any path."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.cell import Cell, Job
from suite.errors import InputError
from suite.machine import Machine
from suite.registry import lookup, make_placer, task

GRIDS = Path(__file__).parent / "grids"


@dataclass(frozen=True)
class Grid:
    """A named set of jobs, in the order they run."""

    name: str
    jobs: tuple[Job, ...]
    seed: int = 0
    tables: tuple[str, ...] = field(default=())


def known_grids() -> dict[str, Path]:
    """Grid name -> file, of the grids that come with placebench."""
    return {path.stem: path for path in sorted(GRIDS.glob("*.toml"))}


def load_grid(name_or_path: str, seed: int | None = None) -> Grid:
    """Read a grid by name or from a TOML file; ``seed`` replaces its base seed.

    Raises InputError for an unknown grid, task, placer, parameter or machine.
    """
    path = Path(name_or_path)
    if path.suffix != ".toml":
        path = lookup(known_grids(), name_or_path, "grid")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    return _grid(table, path, seed)


_KEYS = {"machine", "seed", "task", "placer", "budget"}
_TASK_KEYS = {"name", "gpus", "graph"}
_PLACER_KEYS = {"name", "seeds", "parameters"}
_BUDGET_KEYS = {"evaluations", "seconds", "timeout"}


def _grid(table: Mapping[str, Any], path: Path, seed: int | None) -> Grid:
    _known(table, _KEYS, f"{path}")
    machine = str(table.get("machine", "k40"))
    available = len(Machine.load(machine).gpus)
    budget = table.get("budget", {})
    _known(budget, _BUDGET_KEYS, f"{path}: budget")
    base = int(table.get("seed", 0)) if seed is None else seed
    jobs = []
    for entry in table.get("task", []):
        _known(entry, _TASK_KEYS, f"{path}: a task")
        graph_file = str(path.parent / entry["graph"]) if "graph" in entry else None
        if graph_file is None:
            task(entry["name"])
        gpus = int(entry.get("gpus", 1))
        if gpus > available:
            raise InputError(
                f"{path}: {entry['name']} wants {gpus} GPUs, {machine} has {available}"
            )
        for placer in table.get("placer", []):
            _known(placer, _PLACER_KEYS, f"{path}: a placer")
            parameters = placer.get("parameters", {})
            make_placer(placer["name"], parameters)
            for number in range(int(placer.get("seeds", 1))):
                cell = Cell(path.stem, machine, gpus, entry["name"], placer["name"], number)
                limits = [budget.get(k) for k in ("evaluations", "seconds", "timeout")]
                jobs.append(Job(cell, parameters, graph_file, base, *limits))
    if not jobs:
        raise InputError(f"{path}: no cells; add [[task]] and [[placer]] tables")
    return Grid(path.stem, tuple(jobs), base)


def _known(table: Mapping[str, Any], keys: set[str], where: str) -> None:
    for key in table:
        if key not in keys:
            raise InputError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(keys))}")
    if "name" in keys and "name" not in table:
        raise InputError(f"{where} has no name; add it")
