"""A grid run for real: records of their own, the simulation beside, nothing run twice."""

import json

import pytest
from small_grid import MACHINE, bench, prepare, run


@pytest.fixture
def folder(tmp_path):
    prepare(tmp_path, {"cpu_only": 1, "metis": 1, "gpu_only": 1})
    return tmp_path


def test_a_grid_is_run_for_real(folder):
    assert bench(folder, "--workers", "0").returncode == 0
    real = bench(folder, "--backend", "cluster", "--expose")
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
    assert "0 to run" in bench(folder, "--backend", "cluster", "--expose").stdout


def test_a_host_that_cannot_be_the_machine_is_said_at_once(folder):
    done = run(folder, "bench", "smoke", "--backend", "session", "--output", str(folder / "r"))
    assert done.returncode == 2
    assert done.stderr.strip().endswith("2 GPUs are wanted, TensorFlow sees none here")
