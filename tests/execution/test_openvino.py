"""OpenVINO runs placements: in parts, on the devices asked for, with the same outputs."""

import time

import numpy as np
import pytest

pytest.importorskip("openvino", reason="the extra openvino is not installed")

import openvino
from small_networks import convolutions, dense
from small_steps import cpus

from suite.capture.openvino.read import read_file
from suite.capture.openvino.to_graph import to_graph
from suite.capture.options import Options
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.measurement import OutputError, Step, Timing
from suite.execution.openvino.backend import OpenVINOBackend
from suite.execution.openvino.devices import open_devices
from suite.execution.openvino.network import Network
from suite.formats.machine_toml import load_machine
from suite.search.placer import Search
from suite.search.registry import make_placer
from suite.simulator.compiled.judge import Simulator

CHOICES = [(("cpu", "gpu"), "openvino_cpu"), (("gpu", "cpu"), "openvino_gpu")]
QUICK = Timing(steps=3, discarded=1, traced=1, timeout=120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("networks")


@pytest.fixture(scope="module")
def network(folder):
    """A file with a model, its graph, and the inference of it."""
    path = str(folder / "convolutions.xml")
    openvino.save_model(convolutions(), path)
    graph = to_graph(read_file(path, Options())[0], "convolutions")
    return graph, Network.of(path, graph.op_names, Options())


@pytest.fixture(scope="module")
def backend():
    with OpenVINOBackend(cpus(2)) as running:
        yield running


def test_one_device_runs_it_in_one_part(backend, network):
    graph, step = network
    for device in (0, 1):
        result = backend.measure(step, np.full(graph.n_ops, device), QUICK)
        assert result.status == "ok", result.reason
        assert result.parts == 1
        assert {off.device: off.mse for off in result.errors} == {0: 0.0, 1: 0.0}
        assert set(result.traces[0].devices.tolist()) == {device}


def test_every_operation_runs_where_it_is_placed_and_outputs_stay(backend, network):
    """The branch of 3 x 3 convolutions, with its weights, goes to the second device."""
    graph, step = network
    devices = np.zeros(graph.n_ops, int)
    branch = [i for i, name in enumerate(graph.op_names) if name.startswith("Convolution")][1]
    tensors, readers = graph.edges
    devices[branch] = 1
    weights = graph.producer[tensors[readers == branch]]
    devices[[op for op in weights if graph.op_types[op] != "Parameter"]] = 1
    result = backend.measure(step, devices, QUICK)
    assert result.status == "ok", result.reason
    assert result.parts >= 3
    places = dict(zip(graph.op_names, devices.tolist(), strict=True))
    trace = result.traces[0]
    ran = {n: d for n, d in zip(trace.names, trace.devices.tolist(), strict=True) if n in places}
    assert ran[graph.op_names[branch]] == 1
    assert ran == {name: places[name] for name in ran}
    assert len(result.kept) == 2
    for off in result.errors:
        assert off.cosine == pytest.approx(1)
        assert off.l2 < 1e-6


def test_operations_and_constants_may_be_anywhere(backend, network):
    graph, step = network
    devices = np.random.default_rng(0).integers(0, 2, graph.n_ops)
    result = backend.measure(step, devices, QUICK)
    assert result.status == "ok", result.reason
    assert max(off.l2 for off in result.errors) < 1e-6


def test_a_stand_in_for_a_device_is_marked(backend, network):
    """No host has a second CPU for OpenVINO."""
    graph, step = network
    result = backend.measure(step, np.zeros(graph.n_ops, int), QUICK)
    assert result.virtual
    assert len(set(backend.device_names)) == 2


def test_in_several_parts_too_the_cpu_has_one_core_beside_a_gpus_stand_in():
    core = openvino.Core()
    devices = open_devices(core, ("cpu", "gpu"))
    model = convolutions(size=300)
    ordered = model.get_ordered_ops()
    for op in ordered:
        op.get_rt_info()["affinity"] = devices.names[0]
    # Five numbers: next to nothing beside the convolutions.
    [small] = [op for op in ordered if op.get_type_name() == "Softmax"]
    small.get_rt_info()["affinity"] = devices.names[1]
    config = {"DEVICE_PROPERTIES": devices.settings}
    compiled = core.compile_model(model, f"HETERO:{','.join(devices.names)}", config)
    assert compiled.get_property("HETERO_NUMBER_OF_SUBMODELS") > 1
    inference = compiled.create_infer_request()
    values = [np.ones((1, 3, 300, 300), np.float32)]
    inference.infer(values)
    used, begun = time.process_time(), time.perf_counter()
    for _ in range(20):
        inference.infer(values)
    assert (time.process_time() - used) / (time.perf_counter() - begun) < 1.3


def test_a_model_that_has_changed_is_told_and_the_next_one_runs(backend, network, folder):
    path = str(folder / "changing.xml")
    openvino.save_model(dense(), path)
    names = to_graph(read_file(path, Options())[0], "dense").op_names
    openvino.save_model(convolutions(), path)
    result = backend.measure(Network.of(path, names, Options()), np.zeros(len(names), int), QUICK)
    assert result.status == "error"
    assert "has changed since it was captured; place it again" in result.reason
    graph, step = network
    assert backend.measure(step, np.zeros(graph.n_ops, int), QUICK).status == "ok"


def test_what_does_not_fit_is_refused(backend, network, folder):
    graph, step = network
    with pytest.raises(InputError, match="take session or cluster"):
        backend.measure(Step(folder, graph.op_names), np.zeros(graph.n_ops, int), QUICK)
    with pytest.raises(InputError, match=r"is on device 2; there are 0\.\.1"):
        backend.measure(step, np.full(graph.n_ops, 2), QUICK)


@pytest.mark.parametrize(("kinds", "placer"), CHOICES)
def test_heteros_own_choice_is_what_the_baselines_place(network, kinds, placer):
    """Asked for itself, HETERO gives everything to the first device of its list that can run it."""
    graph, _ = network
    core = openvino.Core()
    names = open_devices(core, kinds).names
    chosen = core.query_model(convolutions(), f"HETERO:{','.join(names)}")
    machine = load_machine("flex170")
    problem = Problem.create(graph, machine)
    placement = make_placer(placer, {}).place(problem, Search(problem, Simulator(problem)))
    assert {kinds[names.index(name)] for name in chosen.values()} == {
        machine.devices[device].kind for device in placement.devices
    }


def test_output_errors_by_hand():
    off = OutputError.of(1, np.array([3.0, 4.0]), np.array([3.0, 0.0]))
    assert (off.device, off.mse, off.cosine, off.l2) == (1, 8.0, 0.6, 4.0)
