"""What all tests share: compiled code, also those that have a cache of their own."""

import os
from collections.abc import Iterator

import pytest

from suite.core.paths import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
COMPILED_ALIKE = (
    *("suite/simulator/", "test_rescore", "test_annealing", "test_patterns"),
    *("test_robust_judge", "test_best_answers"),
    *("[annealing", "[restarts"),
)
"""Parts of the names of tests that need the same kernels, which take a minute to compile."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run what needs the same kernels, lest two compile them at the same time.

    And what shares a fixture, lest two processes make it.
    """
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        alike = any(part in item.nodeid for part in COMPILED_ALIKE)
        group = "compiled alike" if alike else shared_fixture(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def shared_fixture(item: pytest.Item) -> str | None:
    """What a test shares: a fixture of several files, by its name, or those of its own file."""
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    ours = [found[-1] for found in known.values() if found[-1].baseid]
    for fixture in ours:
        if fixture.scope == "session":
            return str(fixture.argname)
    return item.location[0] if any(fixture.scope == "module" for fixture in ours) else None


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Run learned policies without compiling them, which takes longer than a few updates."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
