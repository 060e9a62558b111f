"""A grid run for real: records of their own, the simulation beside, nothing run twice."""

import json
import os
import shutil
from statistics import median

import pytest
from small_grid import FEW, MACHINE, ask, bench, prepare, run

from suite.bench.cell_files import Outlets
from suite.bench.grid import load_grid, run_for_real
from suite.bench.run_cell import run as run_cell
from suite.execution.backends import close_backend


@pytest.fixture
def folder(ran_for_real, tmp_path):
    """A copy of the grid that has run."""
    shutil.copytree(ran_for_real.folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_grid_is_run_for_real(folder, ran_for_real):
    assert bench(folder, "--workers", "0", "--only", "metis").returncode == 0
    assert "mine@cluster: 1 ok, 1 skipped" in ran_for_real.printed["cluster"]
    another = bench(folder, "--backend", "cluster", "--expose", "--only", "cpu_only")
    assert "mine@cluster: 1 ok" in another.stdout
    shutil.rmtree(folder / "r/mine@session")
    found = folder.glob("r/*/pair/0gpu/*/metis/*.json")
    paths = {p.relative_to(folder / "r").parts[0]: p for p in found}
    assert sorted(paths) == ["mine", "mine@cluster"]
    simulated, measured = (json.loads(paths[name].read_text()) for name in sorted(paths))
    assert measured["backend"] == "cluster"
    assert measured["semantics"] == "tensorflow"
    assert measured["placement_hash"] == simulated["placement_hash"]
    assert measured["simulated"]["step_time"] == simulated["step_time"]
    assert len(measured["step_times"]) == len(measured["discarded"]) == 5
    assert sorted(measured["busy"]) == ["cpu:0", "cpu:1"]
    assert measured["virtual"] is False
    assert (folder / "r/mine@cluster/pair/machine.toml").read_text() == MACHINE
    again = ("--backend", "cluster", "--expose", "--only", "metis")
    assert "0 to run" in bench(folder, *again).stdout
    beside_records_of_a_host_that_is_gone(folder, paths["mine@cluster"])


def beside_records_of_a_host_that_is_gone(folder, path):
    """What ran for real is simulated again on the machine kept beside it."""
    (folder / "cache/machines/pair.toml").unlink()
    real = folder / "r/mine@cluster"
    assert ask(folder, "verify", str(real)).stdout.strip() == "2 records checked, 0 differ"
    record = json.loads(path.read_text())
    right = record["simulated"]
    older = right | {"step_time": 2 * right["step_time"]}
    path.write_text(json.dumps(record | {"simulated": older, "lower_bound": 1e-9}))
    differs = ask(folder, "verify", str(real))
    assert differs.returncode == 1
    assert f"{path}: step_time is {right['step_time']}, recorded {older['step_time']}" in (
        differs.stdout
    )
    scored = "1 record scored anew, 1 had the same scores, 0 left as they are"
    assert ask(folder, "rescore", str(real)).stdout.strip() == scored
    bounded = "1 record bounded anew, 2 had the same bound, 0 left as they are"
    assert ask(folder, "rebound", str(real)).stdout.strip() == bounded
    assert json.loads(path.read_text()) == record
    beside_a_later_profile_of_that_name(folder)


def beside_a_later_profile_of_that_name(folder):
    """What follows from another machine than the one that a record was made on stays out of it."""
    real, simulated = (folder / "r" / name for name in ("mine@cluster", "mine"))
    kept = {path: path.read_bytes() for path in folder.glob("r/**/seed*.json")}
    for one in real, simulated:
        later = MACHINE.replace("peak_flops = ", "peak_flops = 1")
        assert later != MACHINE
        (one / "pair/machine.toml").write_text(later)
    why = "its machine, or another setting, is not that of now; run the cell again"
    for command, where in (("rescore", real), ("rebound", real), ("rebound", simulated)):
        # In a process of its own: this one has read the machine before.
        done = run(folder, command, str(where))
        assert done.returncode == 1
        assert why in done.stdout
        assert "\n0 records " in done.stdout
    assert {path: path.read_bytes() for path in kept} == kept


HELD = """
[[placer]]
name = "best_of_random"
label = "held"
parameters = { k = 20 }
judge = { score = "worst", machines = 2, spread = 0.1 }
measure_top = { count = 2, rounds = 1 }
[[placer]]
name = "best_of_random"
label = "run"
parameters = { k = 3 }
judge = { score = "real" }
"""


def test_a_grid_may_run_the_best_answers_before_it_records_one(tmp_path):
    prepare(tmp_path, {})
    grid = tmp_path / "mine.toml"
    grid.write_text(grid.read_text() + HELD)
    alone = bench(tmp_path)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "mine/pair/0gpu/layers/held/seed0 has measure_top; add --backend cluster" in alone.stderr
    real = bench(tmp_path, "--backend", "cluster", "--expose")
    assert real.returncode == 0, real.stderr
    (path,) = (tmp_path / "r").glob("mine@cluster/*/*/*/held/seed0.json")
    record = json.loads(path.read_text())
    top = record["measured_top"]
    answers = top["answers"]
    assert (top["runs"], len(answers), record["evaluations"]) == (2, 2, 20)
    assert record["judge"] == {"score": "worst", "machines": 2, "spread": 0.1, "seed": 0}
    assert record["measure_top"] == {"count": 2, "rounds": 1, "apart": 0.02}
    medians = [median(one["step_times"][0]) for one in answers]
    assert medians[top["chosen"]] == min(medians)
    assert record["placement_hash"] == answers[top["chosen"]]["placement_hash"]
    assert answers[0]["score"] == record["history"][-1][2] < answers[1]["score"]
    (path,) = (tmp_path / "r").glob("mine@cluster/*/*/*/run/seed0.json")
    record = json.loads(path.read_text())
    assert (record["status"], record["judge"]) == ("ok", {"score": "real"})
    assert record["real_runs"]["statuses"] == {"ok": 3}
    assert "suite.execution.real_judge" in record["code"]["modules"]
    assert record["history"][-1][2] != record["simulated"]["step_time"]
    assert "0 to run" in bench(tmp_path, "--backend", "cluster", "--expose").stdout


def test_what_cannot_be_run_is_told_before_it_is_searched(tmp_path):
    prepare(tmp_path, {"random": 1})
    (tmp_path / "layers.pb").unlink()
    done = bench(tmp_path, "--backend", "session")
    assert "mine@session: 1 error" in done.stdout, done.stdout + done.stderr
    (path,) = (tmp_path / "r").glob("mine@session/*/*/*/random/seed0.json")
    record = json.loads(path.read_text())
    assert "placebench graph MODEL --output FILE writes both" in record["reason"]
    assert "evaluations" not in record


@pytest.mark.usefixtures("plugin")
def test_a_learner_whose_answer_ran_out_of_time_need_not_learn_again(tmp_path):
    prepare(tmp_path, {})
    grid = tmp_path / "mine.toml"
    learner = '[[placer]]\nname = "mutation"\nparameters = { updates = 30 }\n'
    grid.write_text(grid.read_text().replace("timeout = 60", "timeout = 1e-9") + learner)
    options = ("--backend", "session", "--checkpoint", "0")
    folder = tmp_path / "r/mine@session/pair/0gpu/layers/mutation"
    for _ in range(2):
        done = bench(tmp_path, *options)
        assert "mine@session: 1 timeout" in done.stdout, done.stdout + done.stderr
        record = json.loads((folder / "seed0.json").read_text())
        assert (record["status"], record["evaluations"]) == ("timeout", 30)
        assert (folder / "seed0.checkpoint.npz").exists()
    longer = grid.read_text().replace("timeout = 1e-9", "timeout = 60")
    before = (folder / "seed0.csv").read_bytes()
    grid.write_text(longer)
    assert "mine@session: 1 ok" in bench(tmp_path, *options).stdout
    assert not (folder / "seed0.checkpoint.npz").exists()
    # Not a step was made anew, whose seconds would be others.
    assert (folder / "seed0.csv").read_bytes() == before


@pytest.mark.usefixtures("plugin")
def test_a_record_counts_the_real_runs_before_its_search_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    prepare(tmp_path, {})
    grid = tmp_path / "mine.toml"
    learner = '[[placer]]\nname = "mutation"\nparameters = { updates = 3 }\n'
    grid.write_text(grid.read_text() + learner + 'judge = { score = "real" }\n')
    (job,) = run_for_real(load_grid(str(grid)), "session", None).jobs
    outlets = Outlets(tmp_path / "r", interval=0)
    try:
        # The second goes on from the end of the first.
        whole, again = (run_cell(job, saved=outlets.checkpoint(job))[0] for _ in range(2))
    finally:
        close_backend()
    assert whole["status"] == again["status"] == "ok"
    assert whole["real_runs"]["runs"] == again["evaluations"] == 3
    assert again["real_runs"] == whole["real_runs"]


def test_a_host_need_not_be_the_machine_of_what_has_run(folder):
    """The machine has two CPUs, one core each."""

    def on_one_core():
        alone = {"preexec_fn": lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])}
        return bench(folder, "--backend", "cluster", "--expose", grid=FEW, **alone)

    assert "2 finished, 0 to run" in on_one_core().stdout
    (path,) = folder.glob("r/mine@cluster/*/*/*/metis/seed0.json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"code": record["code"] | {"digest": "of other code"}}))
    older = path.read_bytes()
    refused(on_one_core())
    assert path.read_bytes() == older
    path.unlink()
    refused(on_one_core())
    assert not path.exists()


def refused(done):
    """The one line says what is lacking."""
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "2 servers need a core each, this process may use 1" in done.stderr


def test_a_host_that_cannot_be_the_machine_is_said_at_once(folder):
    done = run(folder, "bench", "smoke", "--backend", "session", "--output", str(folder / "r"))
    assert done.returncode == 2
    assert done.stderr.strip().endswith("some, pip install 'tensorflow[and-cuda]'")
