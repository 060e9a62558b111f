"""Arguments that cannot go together."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from suite.core.errors import InputError

WRITTEN = ("output", "trace", "workload")
"""Arguments that name what a command writes."""
_POSITIONAL = {"model": "MODEL", "tasks": "TASK", "grid": "GRID", "path": "FILE"}
"""What the help calls arguments that are given without a name."""


def check_written(arguments: argparse.Namespace) -> None:
    """Raise InputError where a command would write over a file that it reads, or one twice."""
    given = {name: value for name, value in vars(arguments).items() if name != "command"}
    paths = {name: _paths(value) for name, value in given.items()}
    for name in WRITTEN:
        for other, those in paths.items():
            for path in paths.get(name, []) if other != name else []:
                if path in those and (other in WRITTEN or path.is_file()):
                    word = _POSITIONAL.get(other, f"--{other}")
                    raise InputError(f"--{name} and {word} are both {given[name]}; give two files")


def _paths(value: object) -> list[Path]:
    several = value if isinstance(value, list) else [value]
    # Not Path.resolve(), which fails where links lead in a circle: reading such a file says so.
    return [Path(os.path.realpath(one)) for one in several if isinstance(one, str | Path)]


def refuse(arguments: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raise InputError where one of these was given, which would do nothing: ``--name why``."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value is not False and value != []:
            raise InputError(f"--{name.replace('_', '-')} {why}")
