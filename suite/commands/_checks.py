"""Arguments that cannot go together."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

from suite.core.errors import InputError

WRITTEN = ("output", "trace", "workload")
"""Arguments that name what a command writes."""
_POSITIONAL = {"model": "MODEL", "tasks": "TASK", "grid": "GRID", "path": "FILE"}
"""What the help calls arguments that are given without a name."""


def check_written(arguments: argparse.Namespace) -> None:
    """Raise InputError where a command would write over a file that it reads, or one twice."""
    given = {name: _named(value) for name, value in vars(arguments).items()}
    # Other commands read the placement that they are given.
    written = (*WRITTEN, "placement") if arguments.command == "workload" else WRITTEN
    for name, other in product(written, given):
        for path, those in product(given.get(name, ()) if other != name else (), given[other]):
            if not same_file(path, those):
                continue
            if other in written or (_real(those).is_file() and _is_read(other, those)):
                word = _POSITIONAL.get(other, f"--{other}")
                raise InputError(f"--{name} and {word} are both {path}; give two files")


def _named(value: object) -> list[str | Path]:
    several = value if isinstance(value, list) else [value]
    return [one for one in several if isinstance(one, str | Path)]


def same_file(path: str | Path, other: str | Path) -> bool:
    """Whether two paths, of what need not be there, are of one file."""
    return _real(path) == _real(other)


def _real(path: str | Path) -> Path:
    # Not Path.resolve(), which fails where links lead in a circle: reading such a file says so.
    return Path(os.path.realpath(path))


def _is_read(name: str, value: str | Path) -> bool:
    """Whether an argument of this name is read as a file, and not what only sounds like one."""
    if isinstance(value, Path):
        return True
    return name in _READ and _READ[name](value)


def _is_model_file(text: str) -> bool:
    from suite.capture.load_model import kind_of

    try:
        return kind_of(text) not in ("task", "function")
    except InputError:  # what it is, the command will say
        return True


def _is_machine_file(text: str) -> bool:
    from suite.formats.machine_toml import machine_path

    return machine_path(text) == Path(text)


def _has_suffix(*suffixes: str) -> Callable[[str], bool]:
    return lambda text: Path(text).suffix in suffixes


_READ: Mapping[str, Callable[[str], bool]] = {
    "graph": lambda _: True,
    "grid": _has_suffix(".toml"),
    "machine": _is_machine_file,
    "model": _is_model_file,
    "task": _is_model_file,
    "tasks": _has_suffix(".json", ".npz"),
}
"""Arguments that are text and may name a file: whether this one does."""


def refuse(arguments: argparse.Namespace, names: tuple[str, ...], why: str) -> None:
    """Raise InputError where one of these was given, which would do nothing: ``--name why``."""
    for name in names:
        value = getattr(arguments, name)
        if value is not None and value is not False and value != []:
            raise InputError(f"--{name.replace('_', '-')} {why}")
