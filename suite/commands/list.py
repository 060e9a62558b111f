"""placebench list: what there is."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import fields

from suite.commands._common import Subparsers, command


def add(parsers: Subparsers) -> None:
    """Declare the arguments."""
    command(
        parsers,
        "list",
        "List placers with their parameters, tasks, machines, grids and tables.",
        "  placebench list",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one line per entry."""
    from suite.bench.grid import known_grids
    from suite.formats.machine_toml import known_machines
    from suite.search.registry import modules, placer_class, placers, tasks

    for name in placers():
        cls = placer_class(name)
        summary = (inspect.getdoc(cls) or "").splitlines()[0]
        parameters = ", ".join(f"{f.name}={f.default!r}" for f in fields(cls))
        print(f"placer   {name:16} {summary}{f' [{parameters}]' if parameters else ''}")
    for name, model in tasks().items():
        print(f"task     {name:16} {type(model).__name__}, {model.gpus} GPUs in the paper")
    for kind, names in (
        ("machine", known_machines()),
        ("grid", list(known_grids())),
        ("table", modules("suite.report.tables")),
        ("plot", modules("suite.report.plots")),
    ):
        for name in names:
            print(f"{kind:8} {name}")
    return 0
