"""Which GPU is meant under CUDA_VISIBLE_DEVICES, and what a backend makes of it."""

import os

import pytest

from suite.core.errors import InputError
from suite.execution.backends import close_backend, open_backend
from suite.execution.driver import config, greeting
from suite.execution.request import Hardware, Ready
from suite.execution.visible_gpus import free_megabytes, visible_gpu

LISTING = """\
0, GPU-aaaa1111-0000, 1000
1, GPU-bbbb2222-0000, 2000
2, GPU-bbbb3333-0000, 3000
"""


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """A tool of that name that lists three GPUs."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\ncat <<END\n{LISTING}END\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)


@pytest.mark.parametrize(
    ("visible", "number", "name"),
    [
        (None, 1, "1"),
        ("2", 0, "2"),
        ("2,0", 1, "0"),
        ("GPU-bbbb3, 1", 0, "GPU-bbbb3"),
        ("1,-1,2", 0, "1"),
    ],
)
def test_the_nth_gpu_has_the_name_that_the_user_gave_it(visible, number, name):
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert visible_gpu(number, environment) == name


@pytest.mark.parametrize(("visible", "number"), [("", 0), ("-1", 0), ("1,-1,2", 1), ("0,1", 2)])
def test_a_gpu_that_is_hidden_is_refused(visible, number):
    with pytest.raises(InputError, match=f"GPU {number} is wanted, CUDA_VISIBLE_DEVICES="):
        visible_gpu(number, {"CUDA_VISIBLE_DEVICES": visible})


@pytest.mark.usefixtures("nvidia_smi")
@pytest.mark.parametrize(("name", "free"), [("0", 1000), ("2", 3000), ("GPU-bbbb3", 3000)])
def test_free_memory_is_that_of_the_gpu_named(name, free):
    assert free_megabytes(name) == free


@pytest.mark.usefixtures("nvidia_smi")
@pytest.mark.parametrize("name", ["3", "GPU-bbbb", "GPU-c", "MIG-1"])
def test_a_gpu_that_is_not_listed_once_is_refused(name):
    with pytest.raises(InputError, match=r"GPUs named .* it has 0 \(GPU-aaaa1111-0000\), 1 "):
        free_megabytes(name)


def test_without_the_tool_the_user_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="nvidia-smi does not say"):
        free_megabytes("0")


@pytest.mark.usefixtures("nvidia_smi")
def test_a_gpu_is_split_into_equal_shares_of_its_free_memory(monkeypatch):
    """The one that is visible has 3000 MB free; three tenths of it each, and a tenth is spare."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,0")
    settings = config(Hardware(cpus=1, gpus=3), present=1)
    assert settings.device_count["GPU"] == 1
    assert settings.gpu_options.visible_device_list == "0"
    (split,) = settings.gpu_options.experimental.virtual_devices
    assert list(split.memory_limit_mb) == [900.0, 900.0, 900.0]


def test_that_a_gpu_is_split_is_told():
    said = greeting(Hardware(cpus=1, gpus=3), present=1, names=())
    assert said.virtual
    assert said.warning.startswith("3 GPUs are wanted, TensorFlow sees 1 here: the first is split")


def test_gpus_that_are_all_there_are_not_split():
    hardware = Hardware(cpus=1, gpus=2)
    assert greeting(hardware, present=4, names=("a",)) == Ready(("a",), virtual=False)
    settings = config(hardware, present=4)
    assert settings.device_count["GPU"] == 2
    assert settings.gpu_options.visible_device_list == "0,1"
    assert settings.gpu_options.allow_growth
    assert not settings.gpu_options.experimental.virtual_devices


def test_the_open_backend_is_closed_before_another_is_started(tmp_path):
    """Seen from one that cannot start: what was open has ended by then."""
    device = """
[[device]]
name = "{0}:0"
kind = "{0}"
memory = "1 GB"
peak_flops = 1e10
memory_bandwidth = 1e10
launch_overhead = 2e-6
"""
    for kind in ("cpu", "tpu"):
        (tmp_path / f"{kind}.toml").write_text(f'name = "{kind}"\n{device.format(kind)}')
    try:
        first = open_backend("session", str(tmp_path / "cpu.toml"), 0, None)
        driver = first._running[0].process
        assert open_backend("session", str(tmp_path / "cpu.toml"), 0, None) is first
        assert driver.poll() is None
        with pytest.raises(InputError, match="is of kind 'tpu'"):
            open_backend("session", str(tmp_path / "tpu.toml"), 0, None)
        assert driver.poll() is not None
    finally:
        close_backend()
