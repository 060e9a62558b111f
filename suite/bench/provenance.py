"""Where a record comes from: commit, versions, processor. No host name, no user name."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    *("placebench", "tensorflow", "keras", "openvino"),
    *("numpy", "numba", "pymetis", "pyscotch", "highspy"),
)


@cache
def _static() -> dict[str, Any]:
    versions: dict[str, str | None] = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    commit = status = None
    if _git("ls-files", "--error-unmatch", "--", Path(__file__).name) is not None:
        # Installed into a folder inside another repository, its commit would say nothing about us.
        commit = _git("rev-parse", "HEAD")
        aside = ":(top,exclude)results", ":(top,exclude)reports"
        status = _git("status", "--porcelain", "--", *aside)
    return {
        "commit": commit or None,
        "dirty": None if status is None else bool(status),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),
        "versions": versions,
    }


def provenance() -> dict[str, Any]:
    """Commit, dirty flag (results and reports aside), versions, processor, time of creation."""
    return _static() | {"created": datetime.now(UTC).isoformat(timespec="seconds")}


def _git(*arguments: str) -> str | None:
    # A worker that is killed meanwhile must not leave the checkout locked.
    command = ["git", "--no-optional-locks", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
