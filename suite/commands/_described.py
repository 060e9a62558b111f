"""All that there is to say of one entry of ``placebench list``."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, fields
from itertools import groupby, pairwise
from types import ModuleType

from suite.core.paths import short_path

WIDTH = 100
"""Columns of what is printed."""


def describe_placer(name: str) -> Iterator[str]:
    """Lines: what its file says, and its parameters with their defaults and what they mean."""
    from suite.bench.fingerprint import default_of
    from suite.search.registry import load, placer_class

    cls = placer_class(name)
    module = load(cls.__module__)
    yield f"placer {name}, {_where(module)}"
    yield from _paragraphs(inspect.getdoc(module))
    yield from _paragraphs(_words_of(cls))
    parameters = [field for field in fields(cls) if field.init]
    if not parameters:
        return
    yield ""
    yield "parameters (--set NAME=VALUE, in a grid parameters = { NAME = VALUE }):"
    words = attribute_docs(cls)
    for field in parameters:
        value = default_of(field)
        yield f"  {field.name}" + ("" if value is MISSING else f" = {_shown(value)}")
        yield from _filled(words.get(field.name, ""), " " * 6)


def describe_task(name: str) -> Iterator[str]:
    """Lines: its model, its size in the paper, and what no paper says and was chosen."""
    from suite.search.registry import load, task

    model = task(name)
    yield f"task {name}, {_where(load(type(model).__module__))}"
    yield from _paragraphs(_words_of(type(model)))
    yield ""
    yield f"GPUs: {model.gpus}"
    count = "not given" if model.paper_ops is None else f"{model.paper_ops:,}"
    yield f"operations in the paper: {count}"
    if model.choices:
        yield "chosen, as no paper gives it:"
        for choice in model.choices:
            yield from _filled(f"- {choice}", "  ", "    ")


def describe_machine(name: str) -> Iterator[str]:
    """Lines: its devices, where its numbers come from, and what its file says of itself."""
    from suite.formats.machine_toml import load_machine, machine_origin, machine_path
    from suite.formats.toml_file import read_toml

    machine, path = load_machine(name), machine_path(name)
    yield f"machine {name}, {short_path(str(path))}"
    yield from _paragraphs(str(read_toml(path).get("source", "")))
    yield ""
    kinds = groupby(machine.devices, key=lambda one: (one.kind, one.memory))
    for (kind, memory), alike in kinds:
        yield f"{len(list(alike))} x {kind} of {memory / 1e9:.3g} GB"
    for part, words in machine_origin(name).items():
        yield f"{part}: {words}"


def describe_grid(name: str) -> Iterator[str]:
    """Lines: its tasks, its placers with their seeds, and its budget."""
    from suite.bench.grid import known_grids, planned_cells
    from suite.formats.toml_file import read_toml

    path = known_grids()[name]
    table, cells = read_toml(path), planned_cells(name)
    yield f"grid {name}, {short_path(str(path))}"
    yield ""
    yield f"{len(cells)} cells on {table['machine']}, placebench bench {name}"
    budget = ", ".join(f"{key} {value}" for key, value in table.get("budget", {}).items())
    yield from _filled(f"budget of each: {budget or 'none'}", "", "  ")
    tasks = dict.fromkeys((cell.task, cell.gpus) for cell in cells)
    yield from _filled("tasks: " + ", ".join(f"{task} ({n} GPUs)" for task, n in tasks), "", "  ")
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.placer, set()).add(cell.seed)
    counted = (f"{name} ({len(n)} seeds)" if len(n) > 1 else name for name, n in seeds.items())
    yield from _filled("placers: " + ", ".join(counted), "", "  ")


def describe_file(kind: str, package: str, name: str) -> Iterator[str]:
    """Lines: what a file of ``package`` says of itself."""
    from suite.search.registry import load

    module = load(f"{package}.{name}")
    yield f"{kind} {name}, {_where(module)}"
    yield from _paragraphs(inspect.getdoc(module))


def attribute_docs(cls: type) -> dict[str, str]:
    """Attribute -> the text below it in its class or one above; none where there is no source."""
    found = {}
    for base in reversed(cls.__mro__):
        try:
            (defined,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError):
            continue
        for one, below in pairwise(getattr(defined, "body", ())):
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                value = below.value if isinstance(below, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    found[one.target.id] = value.value
    return found


def _shown(value: object) -> str:
    return repr(short_path(value) if isinstance(value, str) else value)


def first_line(module: ModuleType, cls: type) -> str:
    """What a placer's file says that it is, or its class, in one line."""
    return next(iter((inspect.getdoc(module) or _words_of(cls)).splitlines()), "")


def _words_of(cls: type) -> str:
    """A class's own docstring; one without has its signature there, which dataclasses write."""
    words = inspect.getdoc(cls) or ""
    return "" if words.startswith(f"{cls.__name__}(") else words


def _where(module: ModuleType) -> str:
    return short_path(inspect.getfile(module))


def _paragraphs(text: str | None) -> Iterator[str]:
    for paragraph in (text or "").strip().split("\n\n"):
        if paragraph:
            yield ""
            yield from _filled(paragraph, "")


def _filled(text: str, indent: str, further: str | None = None) -> list[str]:
    rest = indent if further is None else further
    words = " ".join(text.split()).replace("``", "`")
    return textwrap.wrap(
        words, WIDTH, initial_indent=indent, subsequent_indent=rest, break_on_hyphens=False
    )
