"""TOML files, read with a clear word about what is wrong."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from suite.core.errors import InputError

_DEEP = 100
"""Tables and lists within one another, at most: what shows or compares them calls itself."""
_LONG = 4000
"""Hexadecimal digits of a whole number, at most: Python prints no longer ones."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file; InputError for what is in it, OSError where it cannot be read."""
    try:
        return parse_toml(path.read_text(encoding="utf-8-sig"), str(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None


def parse_toml(text: str, where: str) -> dict[str, Any]:
    """Parse TOML that ``where`` names in messages.

    Raises tomllib.TOMLDecodeError for what is none, InputError for what nobody can mean: numbers of
    thousands of digits, a hundred lists within one another.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of int(), which reads so many digits only
        raise InputError(f"{where}: a number in it is too long; check units") from None
    except RecursionError:
        raise _too_deep(where) from None
    _check(table, where)
    return table


def _check(table: dict[str, Any], where: str) -> None:
    """Refuse what tomllib reads, but messages cannot show: hexadecimal numbers, dotted keys."""
    level: list[Any] = [table]
    for _ in range(_DEEP):
        if any(isinstance(one, int) and one.bit_length() > 4 * _LONG for one in level):
            raise InputError(f"{where}: a number in it is too long; check units")
        lists = [one.values() if isinstance(one, dict) else one for one in level if _holds(one)]
        level = [one for several in lists for one in several]
    if level:
        raise _too_deep(where)


def _holds(value: object) -> bool:
    return isinstance(value, dict | list)


def _too_deep(where: str) -> InputError:
    return InputError(f"{where}: tables or lists within one another too often; write it flat")
