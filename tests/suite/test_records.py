"""Records: none is taken for what it is not, however the run went that left it."""

import csv
import json
import os
import shutil
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from command_line import ROOT, SMOKE_GRAPH, placebench, records, write_grid
from suite_records import save_useless

from suite.bench.cell import MeasureTop
from suite.bench.cell_files import Outlets
from suite.bench.grid import load_grid
from suite.bench.parameters import check_types
from suite.bench.record import (
    digest_of_code,
    finished,
    keep,
    read_record,
    write_record,
)
from suite.bench.run_cell import NOT_BOUNDED, bounded, run
from suite.bench.worker import run_and_write
from suite.core.arrays import digest
from suite.core.cores import my_share
from suite.core.errors import InputError
from suite.core.placement import Placement
from suite.formats.json_file import write_json
from suite.formats.recorded_placement import read_devices
from suite.search.checkpoint import Checkpoint, aside
from suite.search.subprocess_call import NativeCrash

TOLD = datetime.fromisoformat("2026-11-22T00:00:00+00:00")
"""Records that were made from here on say what code made them."""


def job_of(folder, placer, parameters="{}"):
    (job,) = load_grid(str(write_grid(folder / "g.toml", {placer: 1}, parameters=parameters))).jobs
    return job


def test_every_record_here_says_which_code_made_it():
    """Those made before may say that it is unknown."""
    paths = sorted((ROOT / "results").rglob("seed*.json"))
    assert paths
    for path in paths:
        record = read_record(path)
        known = bool(digest_of_code(record))
        made = datetime.fromisoformat(record["provenance"]["created"])
        assert known or ("code" in record and record["code"] is None and made < TOLD), path


def test_a_failed_rerun_leaves_no_placement_of_an_earlier_one(tmp_path):
    path = tmp_path / "seed0.json"
    write_record({"format": "placebench-record-1", "status": "ok"}, np.zeros(3, np.int32), path)
    assert path.with_suffix(".npz").exists()
    write_record({"format": "placebench-record-1", "status": "error"}, None, path)
    assert not path.with_suffix(".npz").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("step_time", value) for value in ("NaN", "1e400", "-1.0", "true", '"x"')],
        pytest.param("step_time", f"1{'0' * 400}", id="step_time-1e400 written out"),
        *[
            ("wall_seconds", '"x"'),
            ("cpu_seconds", "[]"),
            ("evaluations", "-1"),
            ("lower_bound", "{}"),
        ],
        *[("step_times", value) for value in ("[NaN]", "[true]", "5")],
        *[("code", value) for value in ("5", '"x"', "{}", '{"digest": 5}')],
        *[("budget", "5"), ("planner", "5"), ("parameters", "null"), ("under_semantics", "null")],
        *[("simulated", "5"), ("judge", "[]"), ("measure_top", "5"), ("history", "{}")],
        ("fingerprint", "[]"),
    ],
)
def test_a_field_that_is_none_is_said(tmp_path, name, value):
    """A gate would take a step time of NaN, or below 0, for a faster one."""
    path = tmp_path / "seed0.json"
    path.write_text(f'{{"format": "placebench-record-1", "status": "ok", "{name}": {value}}}')
    with pytest.raises(InputError, match=f"{name.removesuffix('s')}.* not .*; delete it"):
        read_record(path)
    assert finished(path, "", None)[1] == "damaged"


def test_a_record_is_finished_for_its_code_or_for_any(tmp_path):
    path, record = tmp_path / "seed0.json", {"format": "placebench-record-1", "status": "ok"}
    write_record(record | {"fingerprint": "f", "code": {"digest": "c"}}, None, path)
    assert finished(path, "f", "c")[1] == ""
    assert finished(path, "f", "d")[1] == "code"
    assert finished(path, "f", None)[1] == ""
    assert finished(path, "g", "c")[1] == "changed"
    for unknown in ({"code": None}, {}):
        write_record(record | {"fingerprint": "f"} | unknown, None, path)
        assert finished(path, "f", "c")[1] == "code"
        assert finished(path, "f", None)[1] == ""


@pytest.mark.parametrize("spoil", [lambda npz: npz.unlink(), lambda npz: os.truncate(npz, 50)])
def test_a_cell_whose_placement_is_not_whole_is_not_finished(tmp_path, spoil):
    path, record = tmp_path / "seed0.json", {"format": "placebench-record-1", "status": "ok"}
    record |= {"fingerprint": "f", "placement_hash": digest([np.zeros(3, np.int32)])}
    write_record(record, np.zeros(3, np.int32), path)
    assert finished(path, "f", None) == (record, "")
    spoil(path.with_suffix(".npz"))
    assert finished(path, "f", None) == (None, "damaged")


def test_a_record_that_is_kept_says_so_until_its_code_is_back(tmp_path):
    path = tmp_path / "seed0.json"
    record = {"format": "placebench-record-1", "status": "ok", "code": {"digest": "c"}}
    write_record(record, None, path)
    before = path.stat().st_mtime_ns
    assert keep(record, "c", path) == record
    assert path.stat().st_mtime_ns == before
    kept = keep(record, "d", path)
    assert read_record(path)["code"] == kept["code"] == {"digest": "c", "kept": "d"}
    assert keep(kept, "c", path) == record
    assert read_record(path) == record
    assert keep(record | {"code": None}, "d", path)["code"] is None


def test_a_bound_that_fails_does_not_sink_a_good_cell(tmp_path, monkeypatch):
    job = job_of(tmp_path, "gpu_only")
    record, devices = run(job)
    assert record["status"] == "ok"
    assert devices is not None
    assert record["lower_bound"] is None
    assert "rebound" in record["bound_kind"]
    whole = bounded(job, record)
    assert 0 < whole["lower_bound"] <= record["step_time"]

    def broken(problem, semantics):
        raise ZeroDivisionError("no bound")

    monkeypatch.setattr("suite.bench.run_cell.bound_of", broken)
    failed = bounded(job, record)
    assert failed["status"] == "ok"
    assert failed["lower_bound"] is None
    assert failed["bound_kind"].startswith("none: ZeroDivisionError: no bound")


def test_rebound_mends_a_run_that_ended_before_its_bound(tmp_path):
    job = job_of(tmp_path, "gpu_only")
    record, devices = run(job)
    path = job.cell.path(tmp_path / "r")
    write_record(record, devices, path)
    graphs = tmp_path / "r/g/graphs"
    assert not graphs.exists()
    from suite.bench.load_problem import keep_graph
    from suite.bench.rebound import rebound

    keep_graph(job, tmp_path / "r")
    assert [outcome for _, outcome in rebound(tmp_path / "r")] == ["changed"]
    assert read_record(path) == json.loads(json.dumps(bounded(job, record)))


def test_a_run_completes_what_was_killed_after_its_record(tmp_path):
    """The record is there, but not its bound, and the search's checkpoint is not gone."""
    grid, results = write_grid(tmp_path / "g.toml", {"gpu_only": 1}), tmp_path / "r"
    assert placebench("bench", grid, "--output", results).returncode == 0
    [path] = results.rglob("seed0.json")
    whole = read_record(path)
    write_json(whole | {"lower_bound": None, "bound_kind": NOT_BOUNDED}, path)
    checkpoint = path.with_suffix(".checkpoint.npz")
    checkpoint.write_bytes(b"of a search that has ended")
    aside(checkpoint).write_bytes(b"of one that did not work")
    again = placebench("bench", grid, "--output", results)
    assert "1 cells, 1 finished, 0 to run" in again.stdout
    assert read_record(path) == whole
    assert not checkpoint.exists()
    assert not aside(checkpoint).exists()


def test_what_the_simulator_cannot_count_is_no_placements_fault(tmp_path, monkeypatch):
    def too_long(problem):
        raise InputError("a step could take 1e20 s; the simulator counts up to 3e8 s: check units")

    monkeypatch.setattr("suite.bench.run_cell.simulators", too_long)
    record, _ = run(job_of(tmp_path, "gpu_only"))
    assert record["status"] == "error"
    assert "check units" in record["reason"]


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY\xff\xff"])
def test_a_damaged_checkpoint_has_spent_nothing(tmp_path, content):
    path = tmp_path / "seed0.checkpoint.npz"
    path.write_bytes(content)
    assert Checkpoint(path, "a").spent() == 0


@pytest.mark.usefixtures("plugin")
def test_a_checkpoint_that_does_not_work_is_dropped_and_the_cell_starts_afresh(tmp_path):
    job = job_of(tmp_path, "mutation", "{ updates = 20 }")
    outlets = Outlets(tmp_path / "r", interval=0)
    fresh, _ = run(job)
    saved = outlets.checkpoint(job)
    whole = save_useless(saved)
    with pytest.warns(UserWarning, match=r"does not work \(KeyError.*; rename bad-.* afresh"):
        record, _ = run(job, saved=outlets.checkpoint(job))
    assert record["status"] == "ok"
    # Should the guess be wrong, nothing is lost but time.
    assert aside(saved.path).read_bytes() == whole
    assert record["evaluations"] == fresh["evaluations"] == 20
    assert record["placement_hash"] == fresh["placement_hash"]


@dataclass(frozen=True)
class Stumbles:
    """Logs its steps; taken up again, it fails after one."""

    def place(self, problem, search):
        """Return everything on the first device that allows it; RuntimeError once taken up."""
        taken_up = search.restore() is not None
        for step in range(1, 4):
            search.log(step, reward=-1.0)
            search.checkpoint(lambda: {"at": np.zeros(1)})
            if taken_up:
                raise RuntimeError("it stumbles")
        return Placement.of_classes(problem, np.argmax(problem.allowed, axis=1))


def test_the_log_of_a_search_that_starts_afresh_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("suite.bench.run_cell.make_placer", lambda name, parameters: Stumbles())
    job, outlets = job_of(tmp_path, "gpu_only"), Outlets(tmp_path / "r", interval=0)
    log = job.cell.path(outlets.results).with_suffix(".csv")

    def rows():
        with log.open(newline="") as file:
            return [(row["step"], row["reward"]) for row in csv.DictReader(file)]

    log.parent.mkdir(parents=True)
    run(job, outlets.journal(job, None), outlets.checkpoint(job))
    whole = rows()
    assert [step for step, _ in whole] == ["1", "2", "3"]
    with pytest.warns(UserWarning, match=r"does not work \(RuntimeError: it stumbles.*afresh"):
        record, _ = run(job, outlets.journal(job, None), outlets.checkpoint(job))
    assert (record["status"], rows()) == ("ok", whole)


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        MemoryError(),
        NativeCrash("the solver died with signal 9 (SIGKILL)"),
        type("ResourceExhaustedError", (Exception,), {})("OOM when allocating a tensor"),
    ],
)
def test_a_checkpoint_outlasts_what_its_host_could_not_do(tmp_path, monkeypatch, error):
    job = job_of(tmp_path, "mutation", "{ updates = 20 }")
    outlets = Outlets(tmp_path / "r", interval=0)
    run(job, saved=outlets.checkpoint(job))
    assert outlets.checkpoint_path(job).exists()

    def fails(placer, problem, search):
        assert search.restore() is not None
        raise error

    monkeypatch.setattr("suite.bench.run_cell.ask", fails)
    record, _ = run(job, saved=outlets.checkpoint(job))
    assert record["status"] != "ok"
    assert outlets.checkpoint_path(job).exists()


@pytest.mark.usefixtures("plugin")
def test_an_error_after_the_search_loses_nothing_of_it(tmp_path):
    """This host is no K40 machine: the answers cannot be run."""
    graph = Path(shutil.copy(SMOKE_GRAPH, tmp_path / "tiny.json"))
    graph.with_suffix(".pb").touch()  # without a GraphDef there would be no search
    plain = job_of(tmp_path, "mutation", "{ updates = 20 }")
    plain = replace(plain, graph_file=str(graph))
    job = replace(plain, backend="session", measure_top=MeasureTop(2))
    outlets = Outlets(tmp_path / "r", interval=0)
    found, devices = run(plain)
    record = run_and_write(job, outlets, my_share(), None)
    path = job.cell.path(outlets.results)
    assert read_record(path) == record
    assert (record["status"], record["step_time"]) == ("error", None)
    assert record["reason"].startswith("the search's best answers did not run: ")
    assert read_devices(path).tolist() == devices.tolist()
    for name in ("placement_hash", "evaluations", "planner"):
        assert record[name] == found[name]
    assert [best for *_, best in record["history"]] == [best for *_, best in found["history"]]
    assert finished(path, record["fingerprint"], None) == (None, "failed")
    # The next bench need not search again.
    saved = outlets.checkpoint(job)
    assert run(job, saved=saved)[0]["evaluations"] == 20
    assert saved.taken_up


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize("value", ["3", 3.5, True])
def test_parameters_are_of_their_types_where_annotations_are_types(value):
    with pytest.raises(InputError, match=r"placer mutation: updates is .*; give a whole number"):
        check_types("mutation", {"updates": value})


@pytest.mark.usefixtures("plugin")
def test_a_checkpoint_of_other_code_is_not_taken_up(tmp_path, monkeypatch):
    job, outlets = job_of(tmp_path, "mutation"), Outlets(tmp_path)
    now = outlets.checkpoint(job).identity
    other = replace(job, parameters={"updates": 3})
    assert outlets.checkpoint(other).identity != now
    monkeypatch.setattr("suite.bench.cell_files.code_of", lambda job: {"digest": "before"})
    before = outlets.checkpoint(job)
    assert before.identity != now
    before.save({}, {})
    with pytest.warns(UserWarning, match="other code; starting afresh"):
        assert Checkpoint(before.path, now).load() is None


PACKAGED = """
from dataclasses import dataclass
import numpy as np
from suite.core.errors import Unsupported
from suite.core.placement import Placement

@dataclass(frozen=True)
class Needy:
    def place(self, problem, search):
        try:
            import rare_library
        except ImportError:
            raise Unsupported("rare_library is not installed") from None
        return Placement.of_classes(problem, np.argmax(problem.allowed, axis=1))
"""


def test_a_cell_skipped_for_a_missing_package_runs_when_it_is_there(tmp_path):
    site = tmp_path / "site"
    (site / "needy-1.0.dist-info").mkdir(parents=True)
    (site / "needy.py").write_text(PACKAGED)
    (site / "needy-1.0.dist-info/METADATA").write_text("Name: needy\nVersion: 1.0\n")
    points = "[placebench.placers]\nneedy = needy:Needy\n"
    (site / "needy-1.0.dist-info/entry_points.txt").write_text(points)
    grid, results = write_grid(tmp_path / "g.toml", {"needy": 1}), tmp_path / "r"
    import os

    from command_line import ENVIRONMENT

    path = os.pathsep.join([str(site), ENVIRONMENT["PYTHONPATH"]])
    options = {"env": ENVIRONMENT | {"PYTHONPATH": path}}

    def bench():
        done = placebench("bench", grid, "--output", results, "--workers", 0, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout, records(results)["needy/seed0"]

    _, record = bench()
    assert (record["status"], record["reason"]) == ("skipped", "rare_library is not installed")
    assert record["code"]["libraries"]["rare_library"] is None
    printed, _ = bench()
    assert "1 cells, 1 finished, 0 to run" in printed
    (site / "rare_library-2.0.dist-info").mkdir()
    (site / "rare_library-2.0.dist-info/METADATA").write_text("Name: rare_library\nVersion: 2.0\n")
    (site / "rare_library.py").write_text("")
    printed, record = bench()
    assert "1 to run (1 made by other code)" in printed
    assert record["status"] == "ok"
    assert record["code"]["libraries"]["rare_library"] == "2.0"
    (site / "needy.py").write_text(PACKAGED + "\nMORE = 1\n")
    printed, _ = bench()
    assert "1 to run (1 made by other code)" in printed


def test_a_record_beside_the_placement_of_another_run_is_not_finished(tmp_path):
    """As a run leaves it that is killed between the two files."""
    path, devices = tmp_path / "seed0.json", np.zeros(5, np.int32)
    whole = {"format": "placebench-record-1", "status": "ok", "fingerprint": "f"}
    whole |= {"code": {"digest": "c"}, "step_time": 1.0, "placement_hash": digest([devices])}
    write_record(whole, devices, path)
    assert finished(path, "f", "c") == (whole, "")
    for other in (np.ones(5, np.int32), np.zeros(3, np.int32)):
        write_record(whole, other, path)
        assert finished(path, "f", "c") == (None, "damaged")


def test_placements_of_many_devices_are_read_back(tmp_path):
    devices = np.arange(300)
    write_record(
        {"format": "placebench-record-1", "status": "ok"}, devices, tmp_path / "seed0.json"
    )
    assert read_devices(tmp_path / "seed0.json").tolist() == devices.tolist()
