"""``suite.apply``: users' own steps on other devices, with the same losses, state and signature."""

import json
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from free_ports import free_ports
from six_ops import six_ops

import suite
from suite.capture.from_module import capture_step
from suite.capture.options import Options
from suite.core.errors import InputError
from suite.execution.apply import _check_kernels
from suite.execution.child import Child, Setup, await_all
from suite.execution.devices import names_here
from suite.execution.network import private_network
from suite.formats.placement_npz import PLACEMENT

TOLERANCE = 1e-5
"""Relative: TensorFlow merges operations of the unplaced step, which then round otherwise."""


@pytest.fixture(scope="module")
def processes():
    """A process that applies placements, and two servers; all in a network of their own.

    Where that is forbidden, there are no servers: they ask for no password.
    """
    children = []
    holder = private_network()
    network = None if holder is None else holder.process.pid
    workers = () if holder is None else tuple(f"127.0.0.1:{port}" for port in free_ports(2))
    setup = Setup("applied:drive", (workers,), network_of=network)
    children.append(Child("the process that applies placements", setup))
    serve = "suite.execution.server:serve"
    for i in range(len(workers)):
        children.append(Child(f"server {i}", Setup(serve, (workers, i), network_of=network)))
    yield children
    for child in [*children, *([holder] if holder else [])]:
        child.stop()


@pytest.fixture(scope="module")
def local(processes):
    """What it found on three logical CPUs."""
    return processes[0].receive()


@pytest.fixture(scope="module")
def remote(processes, local):
    """What it found as the client of two servers."""
    if len(processes) == 1:
        pytest.skip("this host allows no network namespace to keep servers in")
    return await_all(processes, 600)[0]


def assert_trains_alike(found):
    """The same 20 losses, the same variables and optimizer slots, and both go on from there."""
    assert len(found["placed"]) == 20
    assert np.mean(found["placed"][-5:]) < np.mean(found["placed"][:5])
    np.testing.assert_allclose(found["placed"], found["unplaced"], rtol=TOLERANCE)
    assert len(found["placed_state"]) > 4
    for placed, unplaced in zip(found["placed_state"], found["unplaced_state"], strict=True):
        np.testing.assert_allclose(placed, unplaced, rtol=1e-3, atol=1e-5)
    unplaced, placed = found["again"]
    assert placed < unplaced


def assert_ran_where_placed(found):
    """Every operation is in the part of its device and in no other; handles come from outside."""
    handles = set(found["handles"])
    for op, device in found["wanted"].items():
        assert op in handles or found["ran"][op] == {device}, op
    assert len(handles) >= 4
    assert set(found["variables"]) == {found["wanted"][op] for op in handles}
    assert len(set(found["variables"])) > 1


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_twenty_steps_train_alike(local, optimizer):
    assert_trains_alike(local["training"][optimizer])


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_operations_run_where_placed(local, optimizer):
    assert_ran_where_placed(local["training"][optimizer])


def test_the_same_on_a_real_cluster(remote):
    assert_trains_alike(remote)
    assert_ran_where_placed(remote)
    assert all(device.startswith("/job:worker/") for device in remote["variables"])


def test_what_a_keras_model_will_do_otherwise_is_said(local):
    told = local["warnings"]
    assert told["plain"] == []
    (xla,) = told["xla"]
    assert "compile the model with jit_compile=False" in xla
    (freed,) = told["freed"]
    assert "the placed step has a fresh one of its settings" in freed


def test_a_changed_batch_is_told_at_the_line_of_the_user(tmp_path):
    spec = tf.TensorSpec([2, 3])
    step = tf.function(lambda x: tf.reduce_sum(tf.exp(x)), input_signature=[spec])
    devices = dict.fromkeys(capture_step("step", step, Options()).graph.op_names, "cpu:0")
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"format": PLACEMENT, "devices": devices, "tensor_bytes": 1}))
    with pytest.warns(UserWarning, match=r"tensors have 1 bytes in all; .* was the batch") as told:
        suite.apply(step, path)
    assert [one.filename for one in told] == [__file__]


def test_an_operation_without_a_kernel_goes_on_no_gpu():
    kernels = np.array([True, False, True, True, True, True])
    graph = replace(six_ops().graph, gpu_kernel=kernels)
    place = "/job:localhost/replica:0/task:0/device:{}:0"
    devices = dict.fromkeys(graph.op_names, place.format("GPU"))
    name = graph.op_names[1]
    with pytest.raises(InputError, match=f"operation '{name}' has no GPU kernel but would be on"):
        _check_kernels(graph, devices)
    _check_kernels(graph, devices | {name: place.format("CPU")})


def test_a_compiled_keras_model_goes_on_with_its_own_optimizer(local):
    found = local["keras"]
    np.testing.assert_allclose(found["placed"], found["unplaced"], rtol=TOLERANCE)
    assert found["iterations"] == 3 + 20
    assert found["fit"] < found["placed"][0]


def test_a_keras_step_takes_what_fit_takes_and_knows_its_inputs_names(local):
    """A dataset of NumPy's own whole numbers and floats, both of 64 bits."""
    found = local["keras arguments"]
    for how in ("arrays", "dataset", "by name"):
        assert found[how] == pytest.approx(found["fit"][0], rel=TOLERANCE), how
    words = "argument 'words' is float64, the step was captured for int32; give tf.cast(words, tf."
    assert words in found["swapped"]
    assert "called as step(words, feats, label_0): missing" in found["short"]


def test_nested_arguments_keywords_and_none_are_kept(local):
    found = local["signature"]
    assert found["structure"] == {"sum": True, "nothing": True, "both": (True, [True])}
    assert found["types"]
    assert found["total"] == 2 * (6 * 2 * 3 + 15 + 6 * 0.25)  # once unplaced, once placed


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "called as step(pair, *, scale, bias, double=True): missing"),
        ("structure of pair", "'pair' was captured as {'a': 'float32(2, 3)', 'b': ["),
        ("shape", "'pair' has the shape (1, 3), but the placement is of a step for (2, 3)"),
        ("value", "'double' was captured as True, not False"),
        ("type", "'scale' is int32, the step was captured for float32; give tf.cast(scale, tf.fl"),
        ("in a function", "was called in a tf.function"),
    ],
)
def test_other_calls_are_refused(local, name, words):
    assert words in local["signature"][name]


def test_a_python_value_before_a_tensor_is_given(local):
    result, other = local["signature"]["python value first"]
    assert result == [2.0, 2.0]
    assert "'double' was captured as True, not False" in other


def test_variables_move_and_stay_the_users_own(local):
    found = local["variables"]
    assert found["device"].endswith("CPU:2")
    assert found["still"].endswith("CPU:0")
    assert found["same"]
    assert found["nothing"] is None
    np.testing.assert_array_equal(found["before"], [6.0] * 4)
    np.testing.assert_array_equal(found["read"], [7.0] * 4)
    np.testing.assert_array_equal(found["restored"], [2.0] * 4)


def test_what_still_has_the_old_storage_finds_it_empty(local):
    assert local["variables"]["old storage"] == [0]


def test_a_second_placement_takes_the_variables_along(local):
    found = local["variables"]
    assert found["moved"].endswith("CPU:1")
    np.testing.assert_array_equal(found["after"], [3.0] * 4)
    assert "has moved to" in found["first placement"]
    assert "apply it again" in found["first placement"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop", "loop: operation 'while' (StatelessWhile) calls a function"),
        ("table", "is a resource but no variable"),
        ("another graph", "no device for 'w' (1 operations missing, 1 unknown)"),
        ("numbers", "give it one (of a Keras program the layers, the model and the optimizer)"),
        ("names", "not refused"),
        (
            "no device",
            "'gpu:0' of the placement would be /job:localhost/replica:0/task:0/device:GPU:0",
        ),
        ("no name", "'fast one' is no name of TensorFlow's"),
        ("split", "must share a device but are on"),
        ("wrong map", "the placement has nothing on 'gpu:1', but on "),
        ("changing", "values that change from call to call; pass them as arguments"),
        ("no file", "nowhere.json"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(local, name, words):
    assert words in local["refused"][name]


def test_what_is_refused_moves_nothing(local):
    assert local["refused"]["stayed"].endswith("CPU:0")


def test_of_several_devices_that_no_operation_has_the_first_is_named():
    """Whatever the order in which this run of Python keeps a set."""
    given = dict.fromkeys(reversed("abcdefghijklmnopqrstuvwxyz"), "cpu:0")
    with pytest.raises(InputError, match="the placement has nothing on 'z', but on "):
        names_here(["cpu:0"], given)


def test_a_device_may_stand_for_another(local):
    assert local["refused"]["mapped"] == 8.0
    assert local["refused"]["device"].endswith("CPU:1")
