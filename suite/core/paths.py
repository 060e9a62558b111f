"""Where placebench keeps its files: what comes with it, and what it remembers on this host."""

from __future__ import annotations

import os
import re
from pathlib import Path

from suite.core.errors import InputError

SUITE = Path(__file__).parents[1]
"""The folder of the package ``suite``."""
ROOT = SUITE.parent
"""The folder of all packages of placebench."""
MACHINES = SUITE / "machines"
GRIDS = SUITE / "grids"


def short_path(path: str) -> str:
    """A file that comes with placebench, named from ``ROOT`` on; any other text as it is."""
    return path.removeprefix(f"{ROOT}/")


def published_folder() -> Path:
    """The numbers that the papers print: in the package, or in the checkout that it runs from."""
    packed = SUITE / "published"
    return packed if packed.is_dir() else ROOT / "results" / "published"


def check_folder_name(name: object, what: str) -> None:
    """Raise InputError, which begins with ``what``, unless a folder of results can be named so."""
    if not isinstance(name, str) or not re.fullmatch(r"[^/.][^/]*", name) or not name.isprintable():
        raise InputError(f"{what} {name!r} cannot name a folder; use letters and digits")


def cache_folder() -> Path:
    """``$PLACEBENCH_CACHE``, else ``~/.cache/placebench``; InputError where there is no home."""
    named = os.environ.get("PLACEBENCH_CACHE")
    if named:
        return Path(named)
    try:
        return Path.home() / ".cache" / "placebench"
    except RuntimeError:
        raise InputError(
            "this user has no home folder to keep captured graphs in; name a folder in the"
            " environment variable HOME (or in PLACEBENCH_CACHE, and in XDG_DATA_HOME for Scotch)"
        ) from None
