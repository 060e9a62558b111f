"""placebench list: what there is."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import partial

from suite.commands._common import Subparsers, command
from suite.core.errors import InputError
from suite.core.one_line import say_on_one_line

EXAMPLES = """  placebench list
  placebench list machines
  placebench list placers
"""


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    parser = command(
        parsers,
        "list",
        "List placers with their parameters, tasks, machines and where their numbers come from,"
        " grids, tables and plots.",
        EXAMPLES,
    )
    parser.add_argument("kind", nargs="?", choices=list(KINDS), help="only these (default: all)")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per entry; what cannot be used is said, and keeps nobody from the rest."""
    wrong: list[InputError] = []
    for kind in [arguments.kind] if arguments.kind else KINDS:
        names_of, about = KINDS[kind]
        try:
            names = list(names_of())
        except InputError as error:
            wrong.append(error)
            continue
        for name in names:
            try:
                line = f"{kind.removesuffix('s'):8} {name:16} {about(name)}"
            except InputError as error:
                wrong.append(error)
                continue
            print(line.rstrip())
    sys.stdout.flush()
    for fault in wrong:
        say_on_one_line(f"error: {fault}")
    return 2 if wrong else 0


def _placers() -> Iterable[str]:
    from suite.search.registry import placers

    return placers()


def _about_placer(name: str) -> str:
    from suite.bench.fingerprint import default_of
    from suite.search.registry import placer_class

    cls = placer_class(name)
    summary = next(iter((inspect.getdoc(cls) or "").splitlines()), "")
    given = [(f.name, default_of(f)) for f in fields(cls) if f.init]
    parameters = ", ".join(n if value is MISSING else f"{n}={value!r}" for n, value in given)
    return f"{summary} [{parameters}]" if parameters else summary


def _tasks() -> Iterable[str]:
    from suite.search.registry import tasks

    return tasks()


def _about_task(name: str) -> str:
    from suite.search.registry import task

    model = task(name)
    return f"{type(model).__name__}, {model.gpus} GPU{'s' * (model.gpus != 1)}"


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


KINDS: dict[str, tuple[Callable[[], Iterable[str]], Callable[[str], str]]] = {
    "placers": (_placers, _about_placer),
    "tasks": (_tasks, _about_task),
    "machines": (_machines, _about_machine),
    "grids": (_grids, _nothing),
    "tables": (partial(_files, "suite.report.tables"), _nothing),
    "plots": (partial(_files, "suite.report.plots"), _nothing),
}
"""What there is: names, and a word about each."""
