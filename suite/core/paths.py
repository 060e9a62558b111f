"""Where placebench keeps its files: what comes with it, and what it remembers on this host."""

from __future__ import annotations

import os
from pathlib import Path

SUITE = Path(__file__).parents[1]
"""The folder of the package ``suite``."""
ROOT = SUITE.parent
"""The folder of all packages of placebench."""
MACHINES = SUITE / "machines"
GRIDS = SUITE / "grids"


def published_folder() -> Path:
    """The numbers that the papers print: in the package, or in the checkout that it runs from."""
    packed = SUITE / "published"
    return packed if packed.is_dir() else ROOT / "results" / "published"


def cache_folder() -> Path:
    """``$PLACEBENCH_CACHE``, else ``~/.cache/placebench``; there may be no home for the first."""
    named = os.environ.get("PLACEBENCH_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "placebench"
