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

    And what shares a fixture of its file, lest two processes make it.
    """
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        if any(part in item.nodeid for part in COMPILED_ALIKE):
            item.add_marker(pytest.mark.xdist_group("compiled alike"))
        elif shares_a_fixture(item):
            item.add_marker(pytest.mark.xdist_group(item.location[0]))


def shares_a_fixture(item: pytest.Item) -> bool:
    """Whether a test asks for a fixture that is made once for its file."""
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]  # noqa: SLF001
    return any(found[-1].scope == "module" for found in known.values())


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Run learned policies without compiling them, which takes longer than a few updates."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
