"""Checks of parsed JSON and TOML: known keys, required keys, types, in words a user understands."""

from __future__ import annotations

from collections.abc import Mapping

from suite.core.errors import InputError
from suite.core.units import LARGEST

_WORDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}

LONGEST_DAYS = 24
"""Of a time limit: the system call that waits takes 2**31 - 1 milliseconds, 24.8 days, at most."""
LONGEST = LONGEST_DAYS * 86_400.0
"""The same in seconds."""

Fields = Mapping[str, tuple[type, ...]]
"""Key -> types its value may have; ``(int, float)`` is any number."""


def check_fields(entry: object, known: Fields, required: tuple[str, ...], what: str) -> None:
    """Raise InputError unless ``entry`` is a mapping with these keys and types."""
    if not isinstance(entry, dict):
        raise InputError(f"{what} is {shown(entry)}, not an object")
    if _plainly_right(entry, known, required):
        return
    for key in entry:
        if key not in known:
            raise InputError(f"{what} has the unknown key {key!r}; known: {', '.join(known)}")
    for key in required:
        if key not in entry:
            raise InputError(f"{what} has no {key!r}; add it")
    for key, value in entry.items():
        _check_type(value, known[key], f"{what}: {key}")


def _plainly_right(entry: dict[object, object], known: Fields, required: tuple[str, ...]) -> bool:
    """Whether all is well beyond doubt, quickly told: a file may have a million entries."""
    for key, value in entry.items():
        kind = type(value)
        if kind not in known.get(key, ()):  # type: ignore[call-overload]
            return False
        if kind is int and not -LARGEST <= value <= LARGEST:  # type: ignore[operator]
            return False
    return all(key in entry for key in required)


def _check_type(value: object, types: tuple[type, ...], what: str) -> None:
    wrong_bool = isinstance(value, bool) and bool not in types
    if wrong_bool or not isinstance(value, types):
        words = _WORDS[float if float in types else types[0]]
        raise InputError(f"{what} is {shown(value)}; give {words}")
    if isinstance(value, int) and abs(value) > (1e300 if float in types else LARGEST):
        raise InputError(f"{what} is {shown(value)}, which is too large; check units")


def shown(value: object) -> str:
    """A value as messages print it, cut short."""
    try:
        text = repr(value)
    except ValueError:
        return "a very long number"
    return text if len(text) <= 40 else f"{text[:37]}..."
