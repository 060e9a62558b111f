"""Fidelity with OpenVINO: devices take turns in the simulator, too."""

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

import openvino
from small_networks import convolutions

from suite.capture.openvino.read import read_file
from suite.capture.openvino.to_graph import to_graph
from suite.capture.options import Options
from suite.core.problem import Problem
from suite.execution.measurement import Timing
from suite.execution.openvino.backend import OpenVINOBackend
from suite.execution.openvino.network import Network
from suite.fidelity.run import compare
from suite.fidelity.sample_placements import draw
from suite.formats.machine_toml import load_machine
from suite.simulator.judges import make_simulator

TIMING = Timing(steps=3, discarded=1, timeout=120)


def test_what_takes_turns_is_simulated_so(tmp_path):
    path = str(tmp_path / "convolutions.xml")
    openvino.save_model(convolutions(), path)
    graph = to_graph(read_file(path, Options())[0], "convolutions")
    machine = load_machine("flex170")
    problem = Problem.create(graph, machine)
    drawn = draw(problem, 5, 0, {"best_of_random": {"k": 5}})
    step = Network.of(path, graph.op_names, Options())
    with OpenVINOBackend(machine) as backend:
        found = list(compare("toy", problem, step, drawn, backend, TIMING, tmp_path / "results"))
    assert len(found) == len(drawn) == 5
    placed = {(one.kind, one.number): one.placement.devices for one in drawn}
    for cell, record in found:
        assert (record["status"], record["semantics"]) == ("ok", "hetero"), record["reason"]
        devices = np.asarray(placed[cell.placer, cell.seed])
        expected = make_simulator(problem).run(devices).step_time
        assert record["simulated"]["step_time"] == expected
        assert record["parts"] >= len(set(devices.tolist())) - 1
        assert record["outputs_against"]["cpu:0"]["l2"] < 1e-5
    singles = [record for cell, record in found if cell.placer == "single"]
    assert [record["parts"] for record in singles] == [1, 1]
