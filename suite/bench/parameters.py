"""Whether what a user gives a placer as parameters is of their types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from suite.core.errors import InputError
from suite.formats.schema import Fields, check_fields
from suite.search.registry import placer_class

_TYPES: Fields = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}
"""Annotation -> what a value may be. Other types are left to the placer."""


def check_types(placer: str, parameters: Mapping[str, Any]) -> None:
    """Raise InputError where a parameter that the placer has is not of its type, or not finite.

    Python would take ``"no"`` for true, and half a placement for a batch.
    """
    cls, what = placer_class(placer), f"placer {placer}"
    annotated = {one.name: _name(one.type) for one in fields(cls)} if is_dataclass(cls) else {}
    known = {name: _TYPES[kind] for name, kind in annotated.items() if kind in _TYPES}
    given = {name: value for name, value in parameters.items() if name in known}
    check_fields(given, known, (), what)
    for name, value in given.items():
        if isinstance(value, float) and not isfinite(value):
            raise InputError(f"{what}: {name} is {value}; give a finite number")


def _name(annotation: object) -> str:
    """How a field is annotated: as text where its module asks for that, else as a type."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
