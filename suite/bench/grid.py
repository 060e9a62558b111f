"""Grids: which placers x tasks x seeds on which machine: ``suite/grids/*.toml`` or any."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from suite.bench.cell import Cell, Job, MeasureTop, RealRuns, judging
from suite.bench.parameters import check_types
from suite.capture.load_model import kind_of
from suite.core.errors import InputError
from suite.core.paths import GRIDS, check_folder_name
from suite.core.uncertainty import Judging
from suite.formats.machine_toml import known_machines, load_machine, profiles_folder
from suite.formats.schema import LONGEST, LONGEST_DAYS, Fields, check_fields
from suite.formats.toml_file import read_toml
from suite.search.registry import lookup, make_placer, task, unknown
from suite.search.training import policy_field
from suite.simulator.judges import own_semantics
from suite.simulator.semantics import PLACEBENCH, Semantics, preset


@dataclass(frozen=True)
class Grid:
    """A named set of jobs, in the order they run."""

    name: str
    jobs: tuple[Job, ...]
    cpus: int | None = None
    """CPUs of its machine, where that is a host to be profiled; None: the machine is known."""


def known_grids() -> dict[str, Path]:
    """Grid name -> file, of the grids that come with placebench."""
    return {path.stem: path for path in sorted(GRIDS.glob("*.toml"))}


def load_grid(
    name_or_path: str,
    seed: int | None = None,
    machine: str | None = None,
    gpus: int | None = None,
) -> Grid:
    """Read a grid by name or from a TOML file (docs/formats.md).

    ``seed`` and ``machine`` replace the grid's own; no task has more than ``gpus`` GPUs.

    Raises InputError for an unknown grid, task, placer, parameter or machine, for a wrong or
    missing value, and where the machine is still to be profiled or has too few GPUs.
    """
    path = _path(name_or_path)
    table = _table(path)
    try:
        grid = _with_at_most(gpus, _planned(path, table, seed, machine))
        _check_machine(grid)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return grid


@cache
def planned_cells(name: str) -> tuple[Cell, ...]:
    """The cells of a grid of placebench, in order, on any host: also without its machine.

    Read once, since a report asks for those of a grid again and again. Raises InputError as
    :func:`load_grid` does, but for what concerns the machine.
    """
    path = _path(name)
    return tuple(job.cell for job in _planned(path, _table(path), None, None).jobs)


def _path(name_or_path: str) -> Path:
    path = Path(name_or_path)
    return path if path.suffix == ".toml" else lookup(known_grids(), name_or_path, "grid")


def _table(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None


def _planned(path: Path, table: Mapping[str, Any], seed: int | None, machine: str | None) -> Grid:
    if machine is not None:  # what profile the grid asks for is no matter then
        table = {key: value for key, value in table.items() if key != "cpus"} | {"machine": machine}
    return Grid(path.stem, tuple(_jobs(table, path, seed)), table.get("cpus"))


def _with_at_most(gpus: int | None, grid: Grid) -> Grid:
    """The same tasks on so many GPUs at most; of cells that become one, one stays."""
    if gpus is None:
        return grid
    fewer = (replace(j, cell=replace(j.cell, gpus=min(gpus, j.cell.gpus))) for j in grid.jobs)
    return replace(grid, jobs=one_each(fewer, gpus))


def one_each(jobs: Iterable[Job], gpus: int) -> tuple[Job, ...]:
    """One job for each cell; InputError where ``--gpus`` has made one cell of two unlike jobs."""
    kept: dict[Cell, Job] = {}
    for job in jobs:
        if kept.setdefault(job.cell, job) != job:
            raise InputError(
                f"with --gpus {gpus} two different cells are {job.cell.name}; rename a task"
            )
    return tuple(kept.values())


def _check_machine(grid: Grid) -> None:
    """Raise InputError unless this host knows the grid's machine, with devices enough."""
    name = grid.jobs[0].cell.machine
    if name not in known_machines():
        if Path(name).suffix:
            raise InputError(
                f"machine {name!r}: a grid has the name of a machine; put the file into"
                f" {profiles_folder()} and write {Path(name).stem!r}"
            )
        if grid.cpus is None:
            raise unknown(name, "machine", known_machines())
        tasks = dict.fromkeys(job.cell.task for job in grid.jobs if job.graph_file is None)
        options = " ".join([f"--cpus {grid.cpus}", *(f"--task {task}" for task in tasks)])
        raise InputError(
            f"machine {name!r} is this host, measured; run placebench profile {name} {options}"
        )
    machine = load_machine(name)
    if grid.cpus not in (None, len(machine.cpus)):
        raise InputError(
            f"{name} has {len(machine.cpus)} CPUs, not {grid.cpus}; profile it with --cpus"
            f" {grid.cpus}, or name another with --machine"
        )
    for job in grid.jobs:
        if job.cell.gpus > len(machine.gpus):
            wanted = f"{job.cell.task} wants {job.cell.gpus} GPUs"
            raise InputError(f"{wanted}, {name} has {len(machine.gpus)}")


def run_for_real(grid: Grid, backend: str, cluster_file: Path | None, expose: bool = False) -> Grid:
    """The same cells judged by a real backend; their names say so, their seeds are the same."""
    name = f"{grid.name}@{backend}"
    file = None if cluster_file is None else str(cluster_file.absolute())
    jobs = (
        replace(
            job,
            cell=replace(job.cell, grid=f"{job.cell.grid}@{backend}"),
            backend=backend,
            cluster_file=file,
            expose=expose,
        )
        for job in grid.jobs
    )
    return Grid(name, tuple(jobs))


_GRID: Fields = {
    "machine": (str,),
    "cpus": (int,),
    "seed": (int,),
    "semantics": (str,),
    "task": (list,),
    "placer": (list,),
    "budget": (dict,),
}
_TASK: Fields = {"name": (str,), "gpus": (int,), "graph": (str,)}
_PLACER: Fields = {
    "name": (str,),
    "label": (str,),
    "seeds": (int,),
    "parameters": (dict,),
    "judge": (dict,),
    "measure_top": (dict,),
}
_JUDGE: Fields = {
    "score": (str,),
    "machines": (int,),
    "spread": (int, float),
    "seed": (int,),
}
_MEASURE_TOP: Fields = {"count": (int,), "rounds": (int,), "apart": (int, float)}
_BUDGET: Fields = {"evaluations": (int,), "seconds": (int, float), "timeout": (int, float)}


def _jobs(table: Mapping[str, Any], path: Path, seed: int | None) -> list[Job]:
    for key in ("task", "placer"):
        if isinstance(table.get(key), dict):
            raise InputError(f"the grid: [{key}] is one table; write [[{key}]] above each")
    check_fields(table, _GRID, ("machine", "task", "placer"), "the grid")
    if table.get("seed", 0) < 0:
        raise InputError(f"the grid: seed is {table['seed']}; give 0 or more")
    semantics = _semantics(table)
    budget = table.get("budget", {})
    check_fields(budget, _BUDGET, (), "budget")
    _check_budget(budget)
    base = table.get("seed", 0) if seed is None else seed
    placers = list(_placers(table))
    jobs = [
        Job(
            Cell(path.stem, table["machine"], gpus, name, entry.label, number),
            entry.name,
            parameters,
            graph_file,
            base,
            budget.get("evaluations"),
            budget.get("seconds"),
            budget.get("timeout"),
            semantics.name,
            judge=entry.judge,
            measure_top=entry.measure_top,
        )
        for name, gpus, graph_file in _tasks(table, path)
        for entry in placers
        for parameters in [_of_task(entry, name)]
        for number in range(entry.seeds)
    ]
    _check_distinct(jobs)
    return jobs


def _check_budget(budget: Mapping[str, float]) -> None:
    for key, value in budget.items():
        if not value > 0:
            raise InputError(f"budget: {key} is {value}; give more than 0, or leave it out")
        if key != "evaluations" and value > LONGEST:
            most = f"{LONGEST:.0f} ({LONGEST_DAYS} days) at most"
            raise InputError(f"budget: {key} is {value}; give {most}, or leave it out")


def _semantics(table: Mapping[str, Any]) -> Semantics:
    """What the grid asks for, else the machine's own; of one that is not known yet, the default."""
    if "semantics" in table:
        return preset(table["semantics"])
    known = table["machine"] in known_machines()
    return own_semantics(load_machine(table["machine"])) if known else PLACEBENCH


def _tasks(table: Mapping[str, Any], path: Path) -> Iterator[tuple[str, int, str | None]]:
    """Yield name, GPUs and graph file (relative to the grid's) of every task."""
    for what, entry in _counted("task", table["task"]):
        check_fields(entry, _TASK, ("name", "gpus"), what)
        name, gpus = entry["name"], entry["gpus"]
        if gpus < 0:
            raise InputError(f"{name} wants {gpus} GPUs; give 0 or more")
        if "graph" not in entry:
            _check_task(name)
            yield name, gpus, None
        else:
            check_folder_name(name, f"{what}:")
            yield name, gpus, str(path.absolute().parent / entry["graph"])


def _counted(kind: str, entries: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Each entry below what it is called where it is wrong; its name may be, or be there twice."""
    for i, entry in enumerate(entries, 1):
        yield f"{kind} {i} of {len(entries)}", entry


def _check_task(name: str) -> None:
    """Raise InputError where a name is no task's; a user's own model takes a file of its graph."""
    kind = kind_of(name)
    if kind == "task":
        task(name)
        return
    file = name if kind == "graph" else "FILE.npz"
    how = "" if kind == "graph" else f" (placebench graph {name} --output {file})"
    raise InputError(f'{name!r} is no task: name it, with its graph{how} as graph = "{file}"')


@dataclass(frozen=True)
class _Placer:
    """One [[placer]] table."""

    label: str
    name: str
    parameters: Mapping[str, Any]
    policy: str | None
    """The parameter that names a policy's file, where it is given."""
    seeds: int
    judge: Judging | RealRuns | None
    measure_top: MeasureTop | None


def _placers(table: Mapping[str, Any]) -> Iterator[_Placer]:
    """Yield every placer."""
    for what, entry in _counted("placer", table["placer"]):
        check_fields(entry, _PLACER, ("name",), what)
        parameters, seeds = entry.get("parameters", {}), entry.get("seeds", 1)
        label = entry.get("label", entry["name"])
        check_types(entry["name"], parameters)
        policy = policy_field(make_placer(entry["name"], parameters))
        if seeds < 1:
            raise InputError(f"placer {entry['name']}: seeds is {seeds}; give >= 1")
        if not re.fullmatch(r"\w+", label):
            raise InputError(f"{what}: {label!r} cannot name a folder; use letters and digits")
        judge, top = entry.get("judge"), entry.get("measure_top")
        real = judge is not None and judge.get("score") == "real"
        fields = {"score": _JUDGE["score"]} if real else _JUDGE
        check_fields(judge or {}, fields, (), f"{what}: judge")
        check_fields({"count": 1} if top is None else top, _MEASURE_TOP, ("count",), "measure_top")
        yield _Placer(
            label,
            entry["name"],
            parameters,
            policy if policy in parameters else None,
            seeds,
            None if judge is None else judging(judge),
            None if top is None else MeasureTop(**top),
        )


def _of_task(entry: _Placer, name: str) -> Mapping[str, Any]:
    """A placer's parameters; ``{task}`` in the name of a policy file is the task's name."""
    if entry.policy is None:
        return entry.parameters
    path = str(entry.parameters[entry.policy]).replace("{task}", name)
    return {**entry.parameters, entry.policy: path}


def _check_distinct(jobs: list[Job]) -> None:
    if not jobs:
        raise InputError("no cells; add [[task]] and [[placer]] tables")
    seen: set[str] = set()
    for job in jobs:
        if job.cell.name in seen:
            raise InputError(f"{job.cell.name} is there twice; drop one of its tables")
        seen.add(job.cell.name)
