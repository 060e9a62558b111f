"""What a bench says that it does before its first cell."""

import numba
import pytest
from command_line import write_grid

from suite.bench.grid import load_grid
from suite.bench.warm_up import needed
from suite.commands._prepare import prepared


@pytest.fixture
def jobs(tmp_path, monkeypatch):
    """Cells of a graph file, on a host where nothing has been compiled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "compiled"))
    jobs = list(load_grid(str(write_grid(tmp_path / "g.toml", {"random": 1, "metis": 2}))).jobs)
    assert needed(jobs)
    return jobs


@pytest.mark.parametrize(
    ("here", "finished", "told"),
    [
        (True, 0, "compiling as cells need it (once; a minute or two)\n"),
        # One cell is left.
        (True, 2, "compiling as cells need it (once; a minute or two)\n"),
        (True, 3, ""),
        # The cells run on other hosts.
        (False, 0, ""),
    ],
)
def test_without_workers_cells_compile_what_they_need(jobs, here, finished, told, tmp_path, capsys):
    for job in jobs[:finished]:
        path = job.cell.path(tmp_path / "r")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    with prepared(jobs, tmp_path / "r", 0, here):
        assert capsys.readouterr().out == told
    assert capsys.readouterr().out == ""
