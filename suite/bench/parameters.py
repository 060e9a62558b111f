"""Whether what a user gives a placer as parameters is of their types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from suite.core.errors import InputError
from suite.formats.schema import Fields, check_fields, shown
from suite.search.registry import placer_class

_TYPES: Fields = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
"""Annotation -> what a value may be. Other types are left to the placer, but for lists of these."""
_LIST = re.compile(r"(?:tuple|list|Sequence)\[(\w+)(?:, \.\.\.)?\]")
"""A list whose items are of one type."""


def check_types(placer: str, parameters: Mapping[str, Any]) -> None:
    """Raise InputError where a parameter that the placer has is not of its type, or not finite.

    Python would take ``"no"`` for true, half a placement for a batch, and a word for its letters.
    """
    cls, what = placer_class(placer), f"placer {placer}"
    annotated = {one.name: _name(one.type) for one in fields(cls)} if is_dataclass(cls) else {}
    plain = {name: _TYPES[kind] for name, kind in annotated.items() if kind in _TYPES}
    lists = {name: found[1] for name, kind in annotated.items() if (found := _LIST.fullmatch(kind))}
    for name, value in parameters.items():
        if name in plain:
            _check(name, value, plain[name], what)
        elif lists.get(name) in _TYPES:
            if not isinstance(value, list | tuple):
                raise InputError(f"{what}: {name} is {shown(value)}; give a list: [{shown(value)}]")
            for place, item in enumerate(value):
                _check(f"{name}[{place}]", item, _TYPES[lists[name]], what)


def _check(name: str, value: object, types: tuple[type, ...], what: str) -> None:
    """Raise InputError where one value is not of these types."""
    check_fields({name: value}, {name: types}, (), what)
    if isinstance(value, float) and not isfinite(value):
        raise InputError(f"{what}: {name} is {value}; give a finite number")


def _name(annotation: object) -> str:
    """How a field is annotated: as text where its module asks for that, else as a type."""
    if isinstance(annotation, str):
        return annotation
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
