"""A GPU host that lacks something is told so in one line; a rehearsal does all that a host does."""

import os
import sys

import pytest
from command_line import placebench

from suite.bench.grid import load_grid
from suite.cli import main
from suite.commands.host import FORMAT
from suite.core.paths import MACHINES
from suite.execution.host import parse_gpus, parse_topology, usable_memory
from suite.formats.json_file import write_json
from suite.formats.machine_toml import load_machine

GPU = "580.65, {}, GPU-{}, NVIDIA H100 80GB HBM3, 81559, {}\n"
TOPOLOGY = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-15\t0\t\tN/A
GPU1\tNV18\t X \tPHB\tSYS\t0-15\t0\t\tN/A
GPU2\tSYS\tPHB\t X \tSYS\t16-31\t1\t\tN/A
NIC0\tPIX\tSYS\tSYS\t X

Legend:
  X    = Self
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Puts an nvidia-smi that lists GPUs before the host's own, if it has one."""

    def install(listing):
        tool = tmp_path / "nvidia-smi"
        tool.write_text(f"#!{sys.executable}\nprint({listing!r}, end='')\n")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    return install


def refused(capsys, *words):
    assert main(["host", "mine", "--check", *words]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told.removeprefix("placebench: error: ")


def test_without_a_driver_one_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refused(capsys).startswith("this host has no driver of Nvidia's (no nvidia-smi)")


def test_a_gpu_that_others_use_is_not_measured(driver, capsys):
    driver(GPU.format(0, "a", 81000) + GPU.format(1, "b", 40000))
    assert refused(capsys).startswith("GPU 1 has 41.9 of 85.5 GB free")


def test_no_more_gpus_are_used_than_are_shown(driver, monkeypatch, capsys):
    driver(GPU.format(0, "a", 81000) + GPU.format(1, "b", 81000))
    assert refused(capsys, "--gpus", "3") == "3 GPUs are wanted, nvidia-smi shows 2 here\n"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b")
    assert refused(capsys, "--gpus", "2") == "2 GPUs are wanted, nvidia-smi shows 1 here\n"


def test_a_profile_takes_the_memory_that_the_driver_says_is_free(
    driver, tmp_path, monkeypatch, capsys
):
    driver(GPU.format(0, "a", 81000) + GPU.format(1, "b", 40000))
    assert usable_memory(1) == int(0.95 * 81000 * 2**20)
    assert usable_memory(2) == int(0.95 * 40000 * 2**20)
    command = ["profile", "mine", "--backend", "session", "--gpus"]
    assert usable_memory(3) == int(0.9 * 81000 * 2**20 / 3)  # the first, split
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-b")
    assert usable_memory(1) == int(0.95 * 40000 * 2**20)
    elsewhere = [*command, "1", "--cluster", str(tmp_path / "c.toml")]
    elsewhere[elsewhere.index("session")] = "cluster"
    assert main(elsewhere) == 2
    assert "of a cluster file may be on other hosts; say how much" in capsys.readouterr().err
    driver(GPU.format(0, "a", 81000).replace("81000", "[N/A]"))
    assert main([*command, "1"]) == 2
    assert "nvidia-smi does not tell a GPU's memory" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert main([*command, "1"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "no driver of Nvidia's" in told
    assert "--gpu-memory '16 GB'" in told


def test_tensorflow_must_see_what_the_driver_shows(driver, monkeypatch, capsys):
    driver(GPU.format(7, "nowhere", 81000))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    told = refused(capsys)
    assert told.startswith("nvidia-smi shows 1 GPUs, TensorFlow ")
    assert "sees 0: pip install 'tensorflow[and-cuda]'" in told


def test_what_the_driver_prints_is_read():
    version, (first, second) = parse_gpus(GPU.format(0, "a", 81000) + GPU.format(1, "b", 1))
    assert (version, first.model, first.memory) == (
        "580.65",
        "NVIDIA H100 80GB HBM3",
        81559 * 2**20,
    )
    assert (second.number, second.uuid, second.free) == ("1", "GPU-b", 2**20)
    links = parse_topology(TOPOLOGY)
    assert links["0", "1"] == links["1", "0"] == "NV18"
    assert (links["0", "2"], links["1", "2"]) == ("SYS", "PHB")
    assert len(links) == 6


def test_a_grid_for_a_smaller_host_has_the_same_tasks():
    whole, cut = load_grid("gpu"), load_grid("gpu", gpus=4)
    assert [(job.cell.task, job.placer) for job in cut.jobs] == [
        (job.cell.task, job.placer) for job in whole.jobs
    ]
    assert {job.cell.gpus for job in cut.jobs} == {2, 4}


@pytest.mark.skipif(
    "CI" not in os.environ, reason="TensorFlow starts six times, a minute: in CI, or with CI=1"
)
def test_a_rehearsal_leaves_profile_records_and_report(tmp_path):
    environment = os.environ | {"PLACEBENCH_CACHE": str(tmp_path / "cache")}
    words = ["host", "here", "--rehearse", "1", "--output", tmp_path / "r"]
    run = placebench(*words, env=environment)
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line[:6] for line in run.stdout.splitlines() if " of 5: " in line] == [
        f"{number} of 5" for number in range(1, 6)
    ]
    machine = load_machine(tmp_path / "cache" / "machines" / "here.toml")
    assert [device.name for device in machine.devices] == ["cpu:0"]
    page = (tmp_path / "r" / "reports" / "host.md").read_text()
    assert page.startswith("# here\n")
    assert "| rehearsal@session | 1 ok, 2 skipped |" in page
    assert "| fidelity | 1 ok |" in page
    assert "| rehearsal | - |" in page  # one placement ranks nothing


def test_a_name_is_for_one_host(tmp_path):
    """A machine that is there already is not taken for this host, nor written over."""
    environment = os.environ | {"PLACEBENCH_CACHE": str(tmp_path)}
    machine, about = (tmp_path / "machines" / name for name in ("here.toml", "here-host.json"))
    machine.parent.mkdir()
    machine.write_text((MACHINES / "p100.toml").read_text())
    words = ["host", "here", "--rehearse", "1", "--output", tmp_path / "r"]

    profiled = placebench(*words, env=environment)
    assert profiled.returncode == 2
    assert "is of placebench profile, which keeps no hardware; give another" in profiled.stderr

    write_json({"format": FORMAT, "hardware": "another"}, about)
    other = placebench(*words, env=environment)
    assert other.returncode == 2
    assert "is of other hardware; give another name, or remove it" in other.stderr
    assert machine.read_text() == (MACHINES / "p100.toml").read_text()
