"""placebench list: what there is."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields

from suite.commands._common import Subparsers, command

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
    """Print one line per entry."""
    for kind in [arguments.kind] if arguments.kind else KINDS:
        for name, about in KINDS[kind]():
            print(f"{kind.removesuffix('s'):8} {name:16} {about}".rstrip())
    return 0


def _placers() -> Iterator[tuple[str, str]]:
    from suite.bench.fingerprint import default_of
    from suite.search.registry import placer_class, placers

    for name in placers():
        cls = placer_class(name)
        summary = next(iter((inspect.getdoc(cls) or "").splitlines()), "")
        given = [(f.name, default_of(f)) for f in fields(cls) if f.init]
        parameters = ", ".join(n if value is MISSING else f"{n}={value!r}" for n, value in given)
        yield name, f"{summary} [{parameters}]" if parameters else summary


def _tasks() -> Iterator[tuple[str, str]]:
    from suite.search.registry import task, tasks

    for name in tasks():
        model = task(name)
        gpus = f"{model.gpus} GPU{'s' * (model.gpus != 1)}"
        yield name, f"{type(model).__name__}, {gpus}"


def _machines() -> Iterator[tuple[str, str]]:
    from suite.formats.machine_toml import known_machines, load_machine, machine_origin

    for name in known_machines():
        machine = load_machine(name)
        origin = "; ".join(f"{part}: {words}" for part, words in machine_origin(name).items())
        yield (
            name,
            f"{len(machine.cpus)} CPU, {len(machine.gpus)} GPU; {origin or 'origin unknown'}",
        )


def _grids() -> Iterator[tuple[str, str]]:
    from suite.bench.grid import known_grids

    return ((name, "") for name in known_grids())


def _tables() -> Iterator[tuple[str, str]]:
    from suite.search.registry import modules

    return ((name, "") for name in modules("suite.report.tables"))


def _plots() -> Iterator[tuple[str, str]]:
    from suite.search.registry import modules

    return ((name, "") for name in modules("suite.report.plots"))


KINDS = {
    "placers": _placers,
    "tasks": _tasks,
    "machines": _machines,
    "grids": _grids,
    "tables": _tables,
    "plots": _plots,
}
"""What there is, and names with a word about each."""
