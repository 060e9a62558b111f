"""What there is, found by listing files: placers, tasks. Adding a file adds an entry."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from importlib.metadata import entry_points
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from suite.core.errors import InputError, did_you_mean
from suite.core.model import Model
from suite.core.paths import check_folder_name, short_path
from suite.search.check_model import check_model

PLACER_PACKAGES = ("baselines", "planners")
ENTRY_POINTS = "placebench.placers"
T = TypeVar("T")


def modules(package: str) -> list[str]:
    """Names of the public modules of a top-level package, sorted."""
    spec = importlib.util.find_spec(package)
    roots = spec.submodule_search_locations if spec and spec.submodule_search_locations else []
    found = {path.stem for root in roots for path in Path(root).glob("[!_]*.py")}
    return sorted(found)


def load(module: str) -> ModuleType:
    """Import a module that anyone may have added; InputError says what is wrong in it, and where.

    ``module`` is its whole name.
    """
    try:
        return importlib.import_module(module)
    except InputError:
        raise
    except ImportError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            said = f"there is no module {error.name}"
            raise InputError(f"{said}; install it, or mend its name") from None
        said = failure(error, module)
        raise InputError(f"cannot import {module}: {said}; install or mend it") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"cannot import {module}: {failure(error, module)}; mend it") from None


def failure(error: BaseException, module: str | None = None) -> str:
    """``Type: message (file:line)`` on one line: the last line in that module, else of all."""
    said = " ".join(f"{type(error).__name__}: {error}".split())
    frames = list(traceback.walk_tb(error.__traceback__))
    inside = [(frame, line) for frame, line in frames if frame.f_globals.get("__name__") == module]
    last = (inside or frames)[-1:]
    return "".join([said, *(f" ({Path(f.f_code.co_filename).name}:{line})" for f, line in last)])


@cache
def placers() -> Mapping[str, str]:
    """Placer name -> ``module:class`` or ``module`` (the class with a ``place`` method)."""
    named = [
        (name, f"{package}.{name}") for package in PLACER_PACKAGES for name in modules(package)
    ]
    for point in entry_points(group=ENTRY_POINTS):
        # Behind the object may be extras, in brackets.
        named.append((point.name, point.value.partition("[")[0].strip()))
    return _unlike(named, "placer")


def placer_class(name: str) -> type[Any]:
    """Import a placer's class; InputError lists the known names, or says why it cannot be one."""
    where, _, attribute = lookup(placers(), name, "placer").partition(":")
    try:
        module = load(where)
    except InputError as error:
        raise InputError(f"placer {name}: {error}") from None
    public = (value for key, value in vars(module).items() if not key.startswith("_"))
    local = (value for value in public if getattr(value, "__module__", None) == where)
    try:
        named = [attrgetter(attribute)(module)] if attribute else list(local)
    except AttributeError:
        raise InputError(f"placer {name}: {where} has no {attribute}; mend the name") from None
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
    known = inspect.signature(cls).parameters
    for wrong in sorted(parameters.keys() - known):
        hint, words = did_you_mean(wrong, known), ", ".join(known) or "none"
        raise InputError(f"placer {name} has no parameter {wrong!r}; {hint}it has {words}")
    try:
        placer = cls(**parameters)
    except (TypeError, ValueError) as error:
        raise InputError(f"placer {name}: {error}") from None
    except Exception as error:
        raise InputError(f"placer {name}: {failure(error)}") from None
    parameters_of(name, placer)
    return placer


def parameters_of(name: str, placer: Any) -> dict[str, Any]:
    """Every parameter of a placer of that name, as JSON has it; InputError for one that cannot be.

    What follows from them (``init=False``) is none.
    """
    found = {}
    for field in fields(placer):
        if not field.init:
            continue
        value = getattr(placer, field.name)
        if isinstance(value, str):  # a file that comes with placebench: not where it is installed
            value = short_path(value)
        try:
            found[field.name] = json.loads(json.dumps(value, default=asdict))
        except (TypeError, ValueError):
            raise InputError(
                f"placer {name}: {field.name} is {value!r}, which no record can hold; use numbers,"
                " text, and lists or mappings of them"
            ) from None
    return found


@cache
def tasks() -> Mapping[str, Model]:
    """Task name -> model at the paper's size, from every TASKS in ``models/``.

    InputError names the file that cannot be imported, defines no tasks, or one that another has.
    """
    return {name: load(module).TASKS[name] for name, module in task_sources().items()}


@cache
def task_sources() -> Mapping[str, str]:
    """Task name -> the module of ``models/`` that defines it; InputError as :func:`tasks` does."""
    files = [f"models.{name}" for name in modules("models")]
    return _unlike(((task, file) for file in files for task in _tasks_of(file)), "task")


def is_shipped(placer: str) -> bool:
    """Whether a placer is one of placebench's packages, and not of another that is installed."""
    return placers()[placer].startswith(tuple(f"{package}." for package in PLACER_PACKAGES))


def _unlike(named: Iterable[tuple[str, str]], what: str) -> Mapping[str, str]:
    """Name -> where it is; InputError if there is one in two places."""
    found: dict[str, str] = {}
    for name, where in named:
        if found.setdefault(name, where) != where:
            raise InputError(
                f"two {what}s are named {name!r}: {found[name]} and {where}; rename one"
            )
    return found


def _tasks_of(module: str) -> Mapping[str, Model]:
    known = getattr(load(module), "TASKS", None)
    if not isinstance(known, Mapping):
        raise InputError(
            f"{module} defines no TASKS, a mapping of names to models; define them, or begin"
            " the file's name with an underscore"
        )
    for name in known:
        check_folder_name(name, f"{module}: task")
    return known


def task(name: str) -> Model:
    """Return a task's model; InputError lists the known names, or says why it is none."""
    model = lookup(tasks(), name, "task")
    check_model(described_task(name), model)
    return model


def described_task(name: str) -> str:
    """A task and the module of ``models/`` that lists it, in words."""
    return f"task {name} ({task_sources()[name]})"


def lookup(table: Mapping[str, T], name: str, what: str) -> T:
    """Return ``table[name]``; InputError with the closest match and the known names."""
    if name in table:
        return table[name]
    raise unknown(name, what, table)


def unknown(name: str, what: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not there."""
    names = sorted(known)
    hint = did_you_mean(str(name), names)
    return InputError(f"no {what} {name!r}; {hint}known: {', '.join(names)}")
