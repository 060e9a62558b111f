"""What takes long to make, and several files share: two servers, a grid that has run for real.

Tests that use one of them form an xdist group that is named after the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_grid import FEW, bench, prepare, write_grid
from small_steps import cpus

from suite.execution.cluster import ClusterBackend

RUNS = {
    "session": (("--backend", "session"), "mine.toml"),
    "cluster": (("--backend", "cluster", "--expose"), FEW),
}
"""Arguments, and the file of the grid."""


@pytest.fixture(scope="session")
def cluster() -> Iterator[ClusterBackend]:
    with ClusterBackend(cpus(2), expose=True) as backend:
        yield backend


@dataclass(frozen=True)
class RanForReal:
    """A grid in a session, and two of its placers on a cluster: to be copied, not changed."""

    folder: Path
    printed: Mapping[str, str]
    """Name in RUNS -> what the run printed."""


@pytest.fixture(scope="session")
def ran_for_real(tmp_path_factory: pytest.TempPathFactory) -> RanForReal:
    folder, printed = tmp_path_factory.mktemp("measured"), {}
    prepare(folder, {"cpu_only": 1, "metis": 1, "random": 2, "m_topo": 1, "gpu_only": 1})
    (folder / FEW).parent.mkdir()
    write_grid(folder / FEW, {"metis": 1, "gpu_only": 1}, "../layers.npz")
    for name, (arguments, grid) in RUNS.items():
        done = bench(folder, *arguments, grid=grid)
        assert done.returncode == 0, done.stderr
        printed[name] = done.stdout
    return RanForReal(folder, printed)
