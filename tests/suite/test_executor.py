"""Workers in real processes: what goes wrong costs one cell, and nothing is left behind."""

import os
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path
from threading import Timer

import pytest
from command_line import ROOT, SMOKE_GRAPH, children, placebench, records, start, wait_until
from command_line import write_grid as write

from suite.bench import worker
from suite.bench.cell import Cell, Job
from suite.bench.cell_files import Outlets
from suite.bench.executor import Pool, execute
from suite.bench.lock import FILE
from suite.core.cores import Share, cores
from suite.core.errors import InputError
from suite.search.checkpoint import Checkpoint


def job(seed, graph):
    cell = Cell("g", "k40", 2, "tiny", "gpu_only", seed)
    return Job(cell, "gpu_only", {}, str(graph), 0, None, None, 60)


def test_a_graph_that_is_gone_costs_its_cells_alone(tmp_path):
    lost = [job(seed, tmp_path / "gone.json") for seed in range(2)]
    ran = list(execute(lost, Outlets(tmp_path / "r"), 1))
    assert [record["status"] for _, record in ran] == ["error", "error"]
    assert all("gone.json" in record["reason"] for _, record in ran)
    assert set(records(tmp_path / "r")) == {"gpu_only/seed0", "gpu_only/seed1"}


def test_a_worker_that_cannot_be_started_leaves_none_of_the_others(tmp_path):
    open_files = len(os.listdir("/proc/self/fd"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 12, before[1]))
    try:
        jobs = [job(seed, SMOKE_GRAPH) for seed in range(40)]
        with pytest.raises(OSError, match="Too many open files"):
            list(execute(jobs, Outlets(tmp_path), 40))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert active_children() == []


def test_a_record_that_cannot_be_written_is_told_before_anything_runs(tmp_path):
    grid, results = write(tmp_path / "g.toml", {"slow": 1, "gpu_only": 1}), tmp_path / "r"
    taken = results / "g/k40/2gpu/tiny/gpu_only"
    taken.parent.mkdir(parents=True)
    taken.touch()
    done = placebench("bench", grid, "--output", results, "--workers", 2)
    assert done.returncode == 2
    assert done.stderr.startswith(f"placebench: error: cannot make {taken}/seed0.")
    assert done.stderr.count("\n") == 1
    assert "to run" not in done.stdout
    assert records(results) == {}


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("taken", ["graphs", "k40/2gpu/tiny/gpu_only"])
def test_a_record_that_cannot_be_written_leaves_the_cells_that_run_to_end(tmp_path, taken):
    """Before its job is begun, or in the worker that has its answer; none is begun any more."""
    lost, late = (job(seed, SMOKE_GRAPH) for seed in (0, 1))
    other = Cell("other", "k40", 2, "tiny", "slow", 0)
    slow = replace(lost, cell=other, placer="slow", parameters={"seconds": 2.0})
    path = tmp_path / "r/g" / taken
    path.parent.mkdir(parents=True)
    path.touch()
    ran = execute([slow, lost, late], Outlets(tmp_path / "r"), 2)
    with pytest.warns(UserWarning, match=f"{path}.*: no other cell is begun"):
        assert next(ran)[0] == slow
    with pytest.raises(OSError, match=str(path)):
        next(ran)
    assert list(records(tmp_path / "r")) == ["slow/seed0"]
    assert active_children() == []


def test_a_process_that_dies_while_it_opens_a_backend_is_said(tmp_path):
    pool = Pool(Outlets(tmp_path), Share.of(1))
    pool.start(1)
    try:
        (child,) = active_children()
        # Long before it has loaded TensorFlow.
        Timer(0.2, os.kill, (child.pid, signal.SIGKILL)).start()
        with pytest.raises(InputError, match="opens here: the process that tried died of SIGKILL"):
            pool.open(replace(job(0, SMOKE_GRAPH), backend="session"))
    finally:
        pool.stop()
    assert active_children() == []


@pytest.mark.parametrize("hangs", ["false", "true"])
def test_a_record_written_in_the_last_instant_counts(tmp_path, hangs):
    placers = {"parting": 1, "gpu_only": 1}
    grid = write(tmp_path / "g.toml", placers, timeout=20)
    grid.write_text(grid.read_text().replace("{}", f"{{ hangs = {hangs} }}", 1))
    run = placebench("bench", grid, "--output", tmp_path / "r", "--workers", 1)
    assert run.returncode == 0, run.stdout + run.stderr
    assert {name: r["status"] for name, r in records(tmp_path / "r").items()} == {
        "parting/seed0": "ok",
        "gpu_only/seed0": "ok",
    }


def test_a_worker_whose_run_was_interrupted_says_nothing(tmp_path, monkeypatch):
    """It would print a traceback beside the one line that says so."""

    class Gone:
        jobs = ["a job"]  # noqa: RUF012

        def recv(self):
            if self.jobs:
                return self.jobs.pop()
            raise ConnectionResetError

        def send(self, _):
            raise BrokenPipeError

    for name in ("live_with_parent", "take_share", "allow_traces", "warn_on_one_line"):
        monkeypatch.setattr(worker, name, lambda *_: None)
    monkeypatch.setattr(worker, "run_and_write", lambda *_: {})
    worker.serve(Gone(), Outlets(tmp_path), Share.of(1), None)
    assert not Gone.jobs


def test_the_time_limit_is_the_cells_however_often_it_is_resumed(tmp_path):
    parameters = "{ updates = 100000, seconds = 0.05 }"
    grid = write(tmp_path / "g.toml", {"mutation": 1}, 25, parameters=parameters)
    results = tmp_path / "r"
    log = results / "g/k40/2gpu/tiny/mutation/seed0.csv"

    def spent():
        rows = log.read_text().splitlines() if log.exists() else []
        return float(rows[-1].split(",")[2]) if len(rows) > 2 else 0.0

    options = ["--output", results, "--workers", 1, "--checkpoint", 0]
    run = start("bench", grid, *options)
    wait_until(lambda: spent() >= 7, 150)
    run.kill()
    run.wait()
    again = placebench("bench", grid, *options)
    assert records(results)["mutation/seed0"]["status"] == "timeout", again.stdout
    assert 7 <= spent() <= 25


def test_a_checkpoint_of_python_objects_is_refused_when_it_is_written(tmp_path):
    """It could not be read again, and every resume would start afresh."""
    with pytest.raises(TypeError, match="'walks' holds Python objects; give numbers or text"):
        Checkpoint(tmp_path / "c.npz", "one").save({}, {"walks": [{1, 2}]})
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_other_settings_has_spent_nothing(tmp_path):
    Checkpoint(tmp_path / "c.npz", "one").save({"elapsed": 7.5}, {})
    assert Checkpoint(tmp_path / "c.npz", "one").spent() == 7.5
    assert Checkpoint(tmp_path / "c.npz", "other").spent() == 0
    (tmp_path / "c.npz").write_bytes(b"PK half")
    assert Checkpoint(tmp_path / "c.npz", "one").spent() == 0
    assert Checkpoint(tmp_path / "none.npz", "one").spent() == 0


def test_two_runs_do_not_share_a_results_folder(tmp_path):
    grid, results = write(tmp_path / "g.toml", {"slow": 50}), tmp_path / "r"
    run = start("bench", grid, "--output", results, "--workers", 1)
    try:
        wait_until(lambda: children(run.pid))
        second = placebench("bench", grid, "--output", results)
        assert second.returncode == 2
        assert second.stderr == (
            f"placebench: error: process {run.pid} is writing into {results}; wait until it ends,"
            " or give another --output\n"
        )
    finally:
        run.kill()
        run.wait()
    # The lock of a killed run holds nobody up.
    small = write(tmp_path / "h.toml", {"declines": 1})
    assert (results / FILE).read_text() == f"{run.pid}\n"
    assert placebench("bench", small, "--output", results).returncode == 0


def test_workers_share_the_cores_and_records_say_how_many(tmp_path):
    assert Share.of(1) == Share(1, cores())
    assert Share.of(10**6).threads == 1
    grid = write(tmp_path / "g.toml", {"declines": 3, "leaves": 1})
    placebench("bench", grid, "--output", tmp_path / "r", "--workers", 2)
    found = records(tmp_path / "r")
    assert len(found) == 4
    shares = {(r["workers"], r["threads"]) for r in found.values()}
    assert shares == {(2, max(1, cores() // 2))}


def test_the_simulator_keeps_to_its_share():
    program = (
        "import sys, threading\n"
        "sys.path.insert(0, 'tests')\n"
        "import numpy as np\n"
        "from six_ops import six_ops\n"
        "from suite.core.cores import Share, take_share\n"
        "from suite.simulator.compiled.judge import Simulator\n"
        "take_share(Share(2, 1))\n"
        "Simulator(six_ops())(np.ones((64, 6), np.int32))\n"
        "print(threading.active_count())\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


def test_compiling_is_done_once_and_before_the_cells(tmp_path):
    # What other tests have compiled may be there, but nothing says that it is all.
    known, folder = Path(os.environ["NUMBA_CACHE_DIR"]), tmp_path / "compiled"
    if known.is_dir():
        shutil.copytree(known, folder, ignore=shutil.ignore_patterns("complete"))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    told = [
        placebench("bench", "smoke", "--output", tmp_path / name, env=environment).stdout
        for name in ("one", "two")
    ]
    assert told[0].startswith("compiling (once")
    assert told[0].index("compiled after") < told[0].index("smoke: 9 cells")
    assert not [line for line in told[1].splitlines() if line.startswith("compil")]
