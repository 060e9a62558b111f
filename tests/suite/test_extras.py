"""Where an optional package is missing, one line says what to install."""

import sys

import pytest

from suite.cli import main


@pytest.mark.parametrize("model", ["net.xml", "net.onnx", "hsdag_resnet50"])
def test_without_openvino_a_model_is_refused_in_one_line(model, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PLACEBENCH_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in ("net.xml", "net.onnx"):
        (tmp_path / name).write_bytes(b"of no matter")
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert main(["place", model, "--machine", "k40", "--placer", "gpu_only"]) == 2
    told = capsys.readouterr().err
    assert "needs OpenVINO, which is not installed; pip install 'placebench[openvino]'" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("words", [["bench", "smoke"], ["place", "nmt_2", "--placer", "scotch"]])
def test_without_ray_a_cluster_is_refused_in_one_line(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main([*words, "--ray", "auto"]) == 2
    told = capsys.readouterr().err
    assert "--ray needs Ray, which is not installed; pip install 'placebench[ray]'" in told
    assert told.count("\n") == 1
