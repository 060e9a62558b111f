"""Which installed distribution a module comes from, and its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version


def library_version(name: str) -> str | None:
    """Version of the distribution that holds a top-level module; None: it is not installed.

    A distribution of another name is told with its name; a namespace may have several.
    """
    try:
        return version(name)  # most have their module's name; reading all that there is takes time
    except PackageNotFoundError:
        holders = sorted(set(distributions().get(name, ())))
    return ", ".join(f"{holder} {version(holder)}" for holder in holders) or None


@cache
def distributions() -> Mapping[str, Sequence[str]]:
    """Top-level module -> the installed distributions that hold it."""
    return dict(packages_distributions())
