"""What went wrong in other people's code, on one line."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

from suite.core.paths import SUITE

_NOT_THEIRS = (
    str(SUITE),
    *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    "<",
)


def describe_exception(error: BaseException) -> str:
    """Return ``Type: message (file:line)``, the line being the last one in the user's own code."""
    text = str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no message"]
    # AutoGraph retells the traceback in the message, which then ends with what was wrong.
    retold = re.findall(r'File "([^"]+)", line (\d+)', text) if "in user code:" in text else []
    words, kind = (lines[-1] if retold else lines[0]).rstrip("."), type(error).__name__
    frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
    theirs = [(file, line) for file, line in [*frames, *retold] if not _ours(file)]
    where = f" ({Path(theirs[-1][0]).name}:{theirs[-1][1]})" if theirs else ""
    return (words if words.startswith(kind) else f"{kind}: {words}") + where


def _ours(file: str) -> bool:
    return file.startswith(_NOT_THEIRS) or "__autograph_generated" in file
