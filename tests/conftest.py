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
    """Let one process run what needs the same kernels, lest two compile them at the same time."""
    for item in items:
        grouped = item.get_closest_marker("xdist_group")
        if not grouped and any(part in item.nodeid for part in COMPILED_ALIKE):
            item.add_marker(pytest.mark.xdist_group("compiled alike"))


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """Run learned policies without compiling them, which takes longer than a few updates."""
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)
