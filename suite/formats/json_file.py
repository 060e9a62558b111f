"""JSON files that say their format, read with a clear word about what is wrong, written whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.formats.atomic import atomic


def read_json(path: Path, expected: str, *others: str) -> dict[str, Any]:
    """Read a JSON object whose ``format`` is ``expected``, or one of the ``others``.

    InputError names file and trouble.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; check the path") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a text file; give {expected} JSON") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path} is not whole JSON (line {error.lineno}: {error.msg}); write it again"
        ) from None
    except (RecursionError, ValueError) as error:
        raise InputError(f"{path} is not usable JSON ({error}); write it again") from None
    if not isinstance(data, dict) or data.get("format") not in (expected, *others):
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise InputError(f"{path}: format is {found!r}, not {expected!r}")
    return data


def write_json(data: object, path: Path) -> None:
    """Write JSON, whole or not at all."""
    _write(json.dumps(data, indent=1) + "\n", path)


def sayable(data: object) -> Any:
    """The same with None for NaN and infinities, for which JSON has no words."""
    if isinstance(data, Mapping):
        return {name: sayable(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [sayable(value) for value in data]
    return None if isinstance(data, float) and not isfinite(data) else data


def write_json_lines(data: Mapping[str, object], path: Path) -> None:
    """As :func:`write_json`, laid out by :func:`json_lines`."""
    _write(json_lines(data), path)


def json_lines(data: Mapping[str, object]) -> str:
    """JSON with every entry of the object's lists and objects on a line of its own.

    Where there are a million entries, indenting what is in them would take minutes.
    """
    return "{" + ",\n".join(f"{json.dumps(k)}: {_lines(v)}" for k, v in data.items()) + "}\n"


def _lines(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(map(json.dumps, value)) + "\n]"
    if isinstance(value, dict) and value:
        rows = (f"{json.dumps(name)}: {json.dumps(one)}" for name, one in value.items())
        return "{\n" + ",\n".join(rows) + "\n}"
    return json.dumps(value)


def _write(text: str, path: Path) -> None:
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
