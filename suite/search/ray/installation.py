"""What must be the same on all hosts of a cluster, so that all give the same results."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache

from suite.core.library_versions import library_version
from suite.core.paths import ROOT
from suite.core.source_digest import PACKAGES
from suite.search.registry import is_shipped, placers

OURS = "placebench"
LIBRARIES = ("numpy", "numba", "scipy", "tensorflow", "keras")
"""What every cell may use. What a placer uses beside them, the digest in its records tells."""


@cache
def installation() -> Mapping[str, str]:
    """Versions of this host: of Python, libraries, placebench (a digest of its files), placers."""
    ours = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*")):
            if path.suffix in (".py", ".toml"):
                ours.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    others = [name for name in sorted(placers()) if not is_shipped(name)]
    versions = {name: library_version(name) or "not installed" for name in LIBRARIES}
    return {
        "Python": platform.python_version(),
        OURS: ours.hexdigest()[:12],
        "placers from other packages": ", ".join(others) or "none",
        **versions,
    }


def difference(there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """In words, what another host has otherwise; "" where nothing is."""
    names = [name for name in {**here, **there} if there.get(name) != here.get(name)]
    return "; ".join(f"{n}: {there.get(n)} there, {here.get(n)} here" for n in names)
