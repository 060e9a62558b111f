"""What all tests share: compiled code, also those that have a cache of their own."""

import os
from collections.abc import Iterator
from inspect import getfile
from pathlib import Path

import pytest
from hypothesis import settings

from suite.core.paths import cache_folder

os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
# An example may have to compile a kernel, beside other work: how long it takes says nothing.
settings.register_profile("placebench", settings(), deadline=None)
settings.load_profile("placebench")
TESTS = Path(__file__).parent
COMPILED_ALIKE = (
    *("suite/simulator/", "test_rescore", "test_annealing", "test_patterns"),
    *("test_robust_judge", "test_best_answers"),
    *("[annealing", "[restarts"),
)
"""Parts of the names of tests that need the same kernels, which take a minute to compile."""


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process run all tests that need the same kernels, or that share a fixture.

    Two processes would both compile the kernels, and both make the fixture.
    """
    for item in items:
        if item.get_closest_marker("xdist_group"):
            continue
        alike = any(part in item.nodeid for part in COMPILED_ALIKE)
        group = "compiled alike" if alike else shared_fixture(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))


def shared_fixture(item: pytest.Item) -> str | None:
    """The group of a test by what it shares: a fixture made once a session, or some of its file's.

    A file whose tests share fixtures of both kinds needs a mark of its own.
    """
    known = item._fixtureinfo.name2fixturedefs  # type: ignore[attr-defined]
    ours = [
        found[-1] for found in known.values() if Path(getfile(found[-1].func)).is_relative_to(TESTS)
    ]
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


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to run in, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The badly behaved placers of tests/plugin, as if that were installed."""
    from suite.search.registry import placers

    monkeypatch.syspath_prepend(TESTS / "plugin")
    placers.cache_clear()
    yield
    placers.cache_clear()
