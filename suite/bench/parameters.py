"""Whether what a user gives a placer as parameters is of their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from suite.core.errors import InputError
from suite.search.registry import placer_class

_Kind = tuple[Callable[[Any], bool], str]
_KINDS: Mapping[str, _Kind] = {
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (lambda value: isinstance(value, int) and not isinstance(value, bool), "a whole number"),
    "float": (
        lambda value: isinstance(value, int | float) and not isinstance(value, bool),
        "a number",
    ),
    "str": (lambda value: isinstance(value, str), "a text"),
}
"""Annotation -> whether a value is of it, and what to give. Other types are left to the placer."""


def check_types(placer: str, parameters: Mapping[str, Any]) -> None:
    """Raise InputError where a parameter that the placer has is not of its type.

    Python would take ``"no"`` for true, and half a placement for a batch.
    """
    cls = placer_class(placer)
    kinds = {one.name: str(one.type) for one in fields(cls)} if is_dataclass(cls) else {}
    for name, value in parameters.items():
        fits, wanted = _KINDS.get(kinds.get(name, ""), (lambda _: True, ""))
        if not fits(value):
            raise InputError(f"placer {placer}: {name} is {value!r}; give {wanted}")
