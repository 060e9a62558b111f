"""What there is, found by listing files: placers, tasks. Adding a file adds an entry."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from suite.core.errors import InputError
from suite.core.model import Model

PLACER_PACKAGES = ("baselines", "planners")
ENTRY_POINTS = "placebench.placers"
T = TypeVar("T")


def modules(package: str) -> list[str]:
    """Names of the public modules of a top-level package, sorted."""
    spec = importlib.util.find_spec(package)
    roots = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    found = {path.stem for root in roots for path in Path(root).glob("[!_]*.py")}
    return sorted(found)


@cache
def placers() -> Mapping[str, str]:
    """Placer name -> ``module:class`` or ``module`` (the class with a ``place`` method)."""
    found = {name: f"{package}.{name}" for package in PLACER_PACKAGES for name in modules(package)}
    for point in entry_points(group=ENTRY_POINTS):
        if found.setdefault(point.name, point.value) != point.value:
            raise InputError(
                f"two placers are named {point.name!r}: {found[point.name]} and {point.value};"
                " rename the entry point"
            )
    return found


def placer_class(name: str) -> type[Any]:
    """Import a placer's class; InputError lists the known names, or says why it cannot be one."""
    where, _, attribute = lookup(placers(), name, "placer").partition(":")
    try:
        module = importlib.import_module(where)
    except ImportError as error:
        raise InputError(f"placer {name}: cannot import {where}: {error}; install it") from None
    public = (value for key, value in vars(module).items() if not key.startswith("_"))
    local = (value for value in public if getattr(value, "__module__", None) == where)
    named = [getattr(module, attribute, None)] if attribute else local
    classes = [c for c in named if inspect.isclass(c) and is_dataclass(c) and hasattr(c, "place")]
    if len(classes) != 1:
        raise InputError(
            f"placer {name}: {where} must define one public dataclass with a place method,"
            f" not {len(classes)}"
        )
    return classes[0]


def make_placer(name: str, parameters: Mapping[str, Any]) -> Any:
    """Return a placer with these parameters; InputError says which one it does not have."""
    cls = placer_class(name)
    try:
        return cls(**parameters)
    except TypeError:
        known = ", ".join(inspect.signature(cls).parameters) or "none"
        given = ", ".join(parameters)
        raise InputError(f"placer {name} has parameters {known}; given: {given}") from None
    except ValueError as error:
        raise InputError(f"placer {name}: {error}") from None


@cache
def tasks() -> Mapping[str, Model]:
    """Task name -> model at the paper's size, from every TASKS in ``models/``."""
    found: dict[str, Model] = {}
    for name in modules("models"):
        found |= importlib.import_module(f"models.{name}").TASKS
    return found


@cache
def task_sources() -> Mapping[str, str]:
    """Task name -> the module of ``models/`` that defines it."""
    return {
        task: f"models.{name}"
        for name in modules("models")
        for task in importlib.import_module(f"models.{name}").TASKS
    }


def task(name: str) -> Model:
    """Return a task's model; InputError lists the known names."""
    return lookup(tasks(), name, "task")


def lookup(table: Mapping[str, T], name: str, what: str) -> T:
    """Return ``table[name]``; InputError with the closest match and the known names."""
    if name in table:
        return table[name]
    raise unknown(name, what, table)


def unknown(name: str, what: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not there."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return InputError(f"no {what} {name!r}; {hint}known: {', '.join(names)}")
