"""JSON files that say their format, read with a clear word about what is wrong, written whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suite.core.errors import InputError
from suite.formats.atomic import atomic


def read_json(path: Path, expected: str) -> dict[str, Any]:
    """Read a JSON object whose ``format`` is ``expected``; InputError names file and trouble."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
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
    if not isinstance(data, dict) or data.get("format") != expected:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise InputError(f"{path}: format is {found!r}, not {expected!r}")
    return data


def write_json(data: object, path: Path) -> None:
    """Write JSON, whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
