"""Cells and searches on two real Ray nodes of this host, one of which dies."""

import json
import shutil
import subprocess
import sys

import pytest
from command_line import COMMAND, ENVIRONMENT, ROOT, SMOKE_GRAPH, placebench, records, wait_until
from command_line import write_grid as write
from suite_records import save_useless

from suite.bench.cell_files import Outlets
from suite.bench.grid import load_grid
from suite.bench.record import deterministic_part
from suite.cli import main
from suite.core.paths import MACHINES
from suite.search.checkpoint import aside

cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed")
pytestmark = pytest.mark.xdist_group("ray")

FAST_CHECKS = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 300,
    "health_check_timeout_ms": 1000,
    "health_check_failure_threshold": 2,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes with one CPU each, and a cache that is not the driver's."""
    cache = {
        "PLACEBENCH_CACHE": str(tmp_path_factory.mktemp("node")),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": FAST_CHECKS}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (ENVIRONMENT | cache).items():
            patch.setenv(name, value)
        nodes = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        nodes.add_node(num_cpus=1)
    yield nodes
    nodes.shutdown()


@pytest.fixture
def grid(tmp_path):
    """Searches, pauses, a crash and a refusal, on a machine that only the driver's cache has."""
    machines = tmp_path / "cache" / "machines"
    machines.mkdir(parents=True)
    shutil.copy(MACHINES / "k40.toml", machines / "mine.toml")
    path = write(
        tmp_path / "g.toml", {"killed": 1, "mutation": 1, "scotch": 1, "declines": 1, "slow": 4}
    )
    head, slow, tail = path.read_text().replace('"k40"', '"mine"').rpartition('"slow"')
    path.write_text(head + slow + tail.replace("{}", "{ seconds = 1 }"))
    return path


def parts(results):
    return {name: deterministic_part(record) for name, record in records(results).items()}


def test_nodes_with_other_placers_are_not_used(cluster, tmp_path):
    bare = ENVIRONMENT | {"PYTHONPATH": str(ROOT)}
    options = ["--output", tmp_path / "r", "--ray", cluster.address]
    run = placebench("bench", "smoke", *options, env=bare)
    assert run.returncode == 2
    assert "no node of the Ray cluster can be used" in run.stderr
    assert "placers from other packages: " in run.stderr
    assert ", none here" in run.stderr
    assert records(tmp_path / "r") == {}


def test_a_search_over_the_cluster_finds_what_it_finds_here(cluster, capsys):
    # The graph is small: that sending it away takes longer is to be no hindrance here.
    program = (
        "import sys, suite.search.ray.judge as j; j.WORTHWHILE = 0; from suite.cli import main"
    )
    program += "; sys.exit(main(sys.argv[1:]))"
    options = ["--graph", SMOKE_GRAPH, "--machine", "k40", "--gpus", "2", "--json"]
    options += ["--placer", "best_of_random", "--set", "k=60"]
    there = [sys.executable, "-P", "-c", program, "place", *options, "--ray", cluster.address]
    given = {"env": ENVIRONMENT, "capture_output": True, "text": True, "check": True}
    far = subprocess.run([str(word) for word in there], **given)
    assert main(["place", *(str(word) for word in options)]) == 0
    near = json.loads(capsys.readouterr().out)
    assert "placements were judged on the cluster" in far.stderr
    assert "\n0 placements" not in far.stderr
    assert timeless(json.loads(far.stdout)) == timeless(near)


def timeless(found):
    """An answer and those it is compared with, without the seconds that they took."""
    kept = {key: value for key, value in found.items() if key != "place_seconds"}
    return kept | {"comparison": [timeless(one) for one in found.get("comparison", [])]}


def test_a_search_on_a_cluster_is_stopped_by_sigterm_like_any_other(cluster, tmp_path):
    output = tmp_path / "p.json"
    asked = ["place", "--graph", SMOKE_GRAPH, "--machine", "k40", "--gpus", 2, "--output", output]
    asked += ["--placer", "stopped", "--set", "by=SIGTERM", "--ray", cluster.address]
    done = placebench(*asked)
    assert done.returncode == 143, done.stderr
    assert f"placebench: kept {output}: the best of stopped after 20" in done.stderr
    assert done.stderr.splitlines()[-1] == "placebench: interrupted"
    assert output.exists()


@pytest.mark.usefixtures("plugin")
def test_a_checkpoint_that_a_node_sets_aside_comes_back(cluster, tmp_path):
    """The cell fails afresh, too: what the search had found is there for whoever mends that."""
    far = tmp_path / "far"
    path = write(tmp_path / "g.toml", {"mutation": 1}, parameters="{ every = 0 }")
    (job,) = load_grid(str(path)).jobs
    saved = Outlets(far).checkpoint(job)
    whole = save_useless(saved)
    done = placebench("bench", path, "--output", far, "--ray", cluster.address)
    assert done.returncode == 1, done.stderr
    (record,) = records(far).values()
    assert record["reason"].startswith("ZeroDivisionError")
    assert aside(saved.path).read_bytes() == whole
    assert not saved.path.exists()


def test_a_node_that_dies_costs_the_cells_in_flight(cluster, grid, tmp_path):
    environment = ENVIRONMENT | {"PLACEBENCH_CACHE": str(tmp_path / "cache")}
    far, near, log = tmp_path / "far", tmp_path / "near", tmp_path / "log"
    command = [*COMMAND, "bench", grid, "--output", far, "--ray", cluster.address]
    with log.open("w") as out:
        run = subprocess.Popen([str(word) for word in command], env=environment, stdout=out)
    wait_until(lambda: len(records(far)) >= 4, 120)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)
    before = {path: path.stat().st_mtime_ns for path in far.rglob("seed*.json")}
    assert run.wait(120) == 1, log.read_text()  # one cell crashes, there as here
    told = log.read_text()
    assert told.count(" joined with 1 CPUs") == 2
    assert "its cell runs again elsewhere" in told
    assert {path: path.stat().st_mtime_ns for path in before} == before

    placebench("bench", grid, "--output", near, "--workers", 1, env=environment)
    assert parts(far) == parts(near)
    assert parts(near)["killed/seed0"]["reason"] == "the worker process died of SIGSEGV"
    files = {path.relative_to(near) for path in near.rglob("*.*") if path.is_file()}
    assert {path.relative_to(far) for path in far.rglob("*.*") if path.is_file()} == files


@pytest.mark.parametrize("address", ["127.0.0.1:1", "no..name:1"])
def test_where_no_cluster_is_one_line_says_so(tmp_path, address):
    run = placebench("bench", "smoke", "--output", tmp_path, "--ray", address)
    assert run.returncode == 2
    assert run.stderr.startswith(f"placebench: error: --ray {address}: nothing answers there")
    assert run.stderr.count("\n") == 1
