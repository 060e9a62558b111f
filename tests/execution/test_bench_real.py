"""A grid run for real: records of their own, the simulation beside, nothing run twice."""

import json
import os
import sys

import pytest
from command_line import placebench
from small_steps import layers

from suite.graph_file import save_graph

MACHINE = """
name = "pair"
[[device]]
name = "cpu:0"
kind = "cpu"
memory = "1 GB"
peak_flops = 1e10
memory_bandwidth = 1e10
launch_overhead = 2e-6
[[device]]
name = "cpu:1"
kind = "cpu"
memory = "1 GB"
peak_flops = 1e10
memory_bandwidth = 1e10
launch_overhead = 2e-6
[[link]]
bandwidth = 1e9
latency = 1e-4
"""
GRID = """
machine = "pair"
[budget]
timeout = 60
[[task]]
name = "layers"
graph = "layers.npz"
gpus = 0
[[placer]]
name = "cpu_only"
[[placer]]
name = "metis"
[[placer]]
name = "gpu_only"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path / "cache"))
    machines = tmp_path / "cache" / "machines"
    machines.mkdir(parents=True)
    (machines / "pair.toml").write_text(MACHINE)
    small = layers(tmp_path)
    save_graph(small.graph, tmp_path / "layers.npz")
    (tmp_path / "mine.toml").write_text(GRID)
    return tmp_path


def run(*arguments):
    path = os.pathsep.join(p for p in sys.path if p)
    return placebench(*arguments, env=os.environ | {"PYTHONPATH": path})


def bench(folder, *arguments):
    return run("bench", str(folder / "mine.toml"), "--output", str(folder / "r"), *arguments)


def test_a_grid_is_run_for_real(folder):
    assert bench(folder, "--workers", "0").returncode == 0
    real = bench(folder, "--backend", "cluster")
    assert real.returncode == 0, real.stderr
    assert "mine@cluster: 2 ok, 1 skipped" in real.stdout
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
    assert "0 to run" in bench(folder, "--backend", "cluster").stdout


def test_a_host_that_cannot_be_the_machine_is_said_at_once(folder):
    done = run("bench", "smoke", "--backend", "session", "--output", str(folder / "r"))
    assert done.returncode == 2
    assert done.stderr.strip().endswith("2 GPUs are wanted, TensorFlow sees none here")
