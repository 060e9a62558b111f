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
