"""A small grid that has run for real: what several tests look at, since it takes long to make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from small_grid import FEW, bench, prepare, write_grid

RUNS = {
    "session": (("--backend", "session"), "mine.toml"),
    "cluster": (("--backend", "cluster", "--expose"), FEW),
}
"""Arguments, and the file of the grid."""


@dataclass(frozen=True)
class RanForReal:
    """A grid in a session, and two of its placers on a cluster: to be copied, not changed."""

    folder: Path
    printed: Mapping[str, str]
    """Name in RUNS -> what the run printed."""


@pytest.fixture(scope="session")
def ran_for_real(tmp_path_factory: pytest.TempPathFactory) -> RanForReal:
    """Run it; those who ask for it are of one xdist group, ``ran for real``."""
    folder, printed = tmp_path_factory.mktemp("measured"), {}
    prepare(folder, {"cpu_only": 1, "metis": 1, "random": 2, "m_topo": 1, "gpu_only": 1})
    (folder / FEW).parent.mkdir()
    write_grid(folder / FEW, {"metis": 1, "gpu_only": 1}, "../layers.npz")
    for name, (arguments, grid) in RUNS.items():
        done = bench(folder, *arguments, grid=grid)
        assert done.returncode == 0, done.stderr
        printed[name] = done.stdout
    return RanForReal(folder, printed)
