"""placebench list: what there is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from suite.commands._common import Subparsers, command
from suite.commands._described import (
    describe_file,
    describe_grid,
    describe_machine,
    describe_placer,
    describe_task,
    first_line,
)
from suite.core.errors import InputError, did_you_mean
from suite.core.one_line import say_on_one_line
from suite.core.units import format_count

EXAMPLES = """  placebench list
  placebench list machines
  placebench list annealing           what it is, and its parameters
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "list",
        "List placers, tasks, machines and where their numbers come from, grids, tables and plots."
        " Or say all that there is to say of one of them: of a placer its parameters, of a task"
        " what was chosen, of a grid what it runs.",
        EXAMPLES,
    )
    parser.add_argument(
        "what",
        nargs="?",
        metavar="WHAT",
        help=f"{', '.join(KINDS)}, or a name (default: all kinds)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one line per entry; what cannot be used is said, and keeps nobody from the rest."""
    wrong: list[InputError] = []
    what = arguments.what
    if what is None or what in KINDS:
        for kind in [what] if what else KINDS:
            _print(kind, _names(kind, wrong), wrong)
    else:
        _describe(what, {kind: _names(kind, wrong) for kind in KINDS})
    sys.stdout.flush()
    for fault in wrong:
        say_on_one_line(f"error: {fault}")
    return 2 if wrong else 0


def _names(kind: str, wrong: list[InputError]) -> list[str]:
    """The names of a kind; none, and why in ``wrong``, where they cannot be found."""
    try:
        return list(KINDS[kind].names())
    except InputError as error:
        wrong.append(error)
        return []


def _print(kind: str, names: list[str], wrong: list[InputError]) -> None:
    """One line each; what is wrong with one is added to ``wrong``."""
    width = max(map(len, names), default=0)
    for name in names:
        try:
            line = f"{kind.removesuffix('s'):8} {name:{width}}  {KINDS[kind].line(name)}"
        except InputError as error:
            wrong.append(error)
            continue
        print(line.rstrip())


def _describe(name: str, names: dict[str, list[str]]) -> None:
    """All that there is to say of whatever has this name; InputError where nothing has."""
    parts = [
        "\n".join(KINDS[kind].describe(name)) for kind, known in names.items() if name in known
    ]
    if not parts:
        hint = did_you_mean(name, {*KINDS, *(one for known in names.values() for one in known)})
        raise InputError(f"nothing is named {name!r}; {hint}placebench list prints all names")
    print("\n\n\n".join(parts))


def _placers() -> Iterable[str]:
    from suite.search.registry import placers

    return placers()


def _about_placer(name: str) -> str:
    from suite.search.registry import load, placer_class

    cls = placer_class(name)
    return first_line(load(cls.__module__), cls)


def _tasks() -> Iterable[str]:
    from suite.search.registry import tasks

    return tasks()


def _about_task(name: str) -> str:
    from suite.search.registry import task

    model = task(name)
    return f"{type(model).__name__}, {format_count(model.gpus, 'GPU')}"


def _machines() -> Iterable[str]:
    from suite.formats.machine_toml import known_machines

    return known_machines()


def _about_machine(name: str) -> str:
    from suite.formats.machine_toml import load_machine, machine_origin

    machine = load_machine(name)
    origin = "; ".join(f"{part}: {words}" for part, words in machine_origin(name).items())
    return f"{len(machine.cpus)} CPU, {len(machine.gpus)} GPU; {origin or 'origin unknown'}"


def _grids() -> Iterable[str]:
    from suite.bench.grid import known_grids

    return known_grids()


def _files(package: str) -> Iterable[str]:
    from suite.search.registry import modules

    return modules(package)


def _nothing(name: str) -> str:
    return ""


class _Kind(NamedTuple):
    """One kind of what there is."""

    names: Callable[[], Iterable[str]]
    line: Callable[[str], str]
    """A word about a name."""
    describe: Callable[[str], Iterator[str]]
    """All that there is to say of it, in lines."""


def _kind_of_file(kind: str, package: str) -> _Kind:
    return _Kind(partial(_files, package), _nothing, partial(describe_file, kind, package))


KINDS = {
    "placers": _Kind(_placers, _about_placer, describe_placer),
    "tasks": _Kind(_tasks, _about_task, describe_task),
    "machines": _Kind(_machines, _about_machine, describe_machine),
    "grids": _Kind(_grids, _nothing, describe_grid),
    "tables": _kind_of_file("table", "suite.report.tables"),
    "plots": _kind_of_file("plot", "suite.report.plots"),
}
