"""Real sessions and real servers: what is placed runs there, and computes the same."""

import numpy as np
import pytest
from small_steps import adam_layers, chain, cpus, layers, towers

from suite.execution.devices import names_on
from suite.execution.measurement import Timing
from suite.execution.session import SessionBackend

pytestmark = pytest.mark.xdist_group("cluster")

QUICK = Timing(steps=3, discarded=1, traced=1, timeout=120)
TWENTY = Timing(steps=20, discarded=5, traced=1, timeout=120)
TOLERANCE = 1e-5
"""Relative: devices may add in another order."""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return layers(tmp_path_factory.mktemp("layers"))


@pytest.fixture(scope="module")
def session():
    with SessionBackend(cpus(2)) as backend:
        yield backend


@pytest.fixture(params=["session", "cluster"])
def backend(request, session, cluster):
    return session if request.param == "session" else cluster


@pytest.fixture(scope="module")
def one_device():
    with SessionBackend(cpus(1)) as backend:
        yield backend


@pytest.fixture(scope="module")
def alone(small, one_device):
    """The step on one device of one session."""
    return one_device.measure(small.step, np.zeros(small.graph.n_ops, int), QUICK)


def scattered(graph):
    """Colocation classes by turns on two devices."""
    return np.asarray(graph.colocation) % 2


def assert_ran_where_placed(result, backend, small, devices):
    """Every operation is in the statistics, on its device and no other."""
    names, placed = small.graph.op_names, dict(zip(small.graph.op_names, devices, strict=True))
    trace = result.traces[0]
    ran = [(n, d) for n, d in zip(trace.names, trace.devices.tolist(), strict=True) if n in placed]
    assert sorted(ran) == sorted((n, placed[n]) for n in names)


def test_an_unplaced_step_trains(alone):
    first, second, third = (loss for (loss,) in alone.outputs)
    assert alone.status == "ok", alone.reason
    assert third < second < first < 10


def test_a_server_sends_while_it_computes(cluster, tmp_path):
    """Else the second tower would begin when the first has ended, and nothing would be won."""
    small = towers(tmp_path)
    names = small.graph.op_names
    devices = np.array([int(name.startswith("there")) for name in names])
    five = cluster.measure(small.step, devices, Timing(steps=3, discarded=1, traced=5, timeout=120))
    assert five.status == "ok", five.reason
    began_before = []
    for trace in five.traces:
        when = dict(zip(trace.names, zip(trace.start, trace.end, strict=True), strict=True))
        began_before.append(when["there_0"][0] < when["here_7"][1])
    # On a host with other work, a server may get no core in time.
    assert any(began_before)


def test_a_placed_step_runs_where_placed_and_computes_the_same(backend, small, alone):
    devices = scattered(small.graph)
    result = backend.measure(small.step, devices, QUICK)
    assert result.status == "ok", result.reason
    assert_ran_where_placed(result, backend, small, devices)
    np.testing.assert_allclose(result.outputs, alone.outputs, rtol=TOLERANCE)
    assert len(result.step_times) == 3
    assert result.step_time == pytest.approx(np.median(result.step_times[1:]))
    assert result.virtual is (backend.name == "session")


@pytest.fixture(scope="module")
def adam(tmp_path_factory):
    """A step whose optimizer has two slots for every weight."""
    return adam_layers(tmp_path_factory.mktemp("adam"))


@pytest.fixture(scope="module")
def twenty_alone(adam, one_device):
    return one_device.measure(adam.step, np.zeros(adam.graph.n_ops, int), TWENTY)


def test_twenty_steps_with_optimizer_state_train_alike(backend, adam, twenty_alone):
    devices = scattered(adam.graph)
    result = backend.measure(adam.step, devices, TWENTY)
    assert_ran_where_placed(result, backend, adam, devices)
    losses = [loss for (loss,) in twenty_alone.outputs]
    assert len(losses) == 20
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(result.outputs, twenty_alone.outputs, rtol=1e-4)
    assert tuple(names_on(cpus(2), backend.name).values()) == backend.device_names


def test_sessions_on_a_cluster_do_not_share_variables(small, alone, cluster):
    again = cluster.measure(small.step, 1 - scattered(small.graph), QUICK)
    np.testing.assert_allclose(again.outputs, alone.outputs, rtol=TOLERANCE)


def test_tensors_cross_by_grpc(small, cluster):
    def received() -> list[str]:
        trace = cluster.measure(small.step, scattered(small.graph), QUICK).traces[0]
        named = zip(trace.names, trace.labels, strict=True)
        return [label for name, label in named if name == "RecvTensor"]

    # On a busy host a server may begin to log what it receives after the traced step has ended.
    labels = next(found for _ in range(3) if (found := received()))
    assert any("task:0" in label and "task:1" in label for label in labels)


def test_memory_covers_what_is_resident(tmp_path, session, cluster):
    """Two matrices of 16 MB at least: the one that stays, and a product."""
    small = chain(tmp_path, 2000, 2)
    on_second = np.ones(small.graph.n_ops, int)
    for backend, source in ((session, "step statistics"), (cluster, "allocator")):
        result = backend.measure(small.step, on_second, QUICK)
        assert result.status == "ok", result.reason
        assert result.memory_source == source
        first, second = result.peak_memory
        assert 32e6 <= second <= 80e6
        assert first < 1e6


def test_each_step_of_a_session_has_its_own_memory(tmp_path, small, one_device):
    """A chain of matrices of 16 MB first: nothing of it is left in what the small step takes."""
    large = chain(tmp_path, 2000, 2)
    first, then = (
        one_device.measure(one.step, np.zeros(one.graph.n_ops, int), QUICK).peak_memory[0]
        for one in (large, small)
    )
    assert first >= 32e6
    assert 0 < then < 16e6


def test_what_does_not_fit_is_oom(backend, tmp_path, small):
    """A matrix of 4 TB, on a device of 4 GB; then the next step runs."""
    huge = chain(tmp_path, 1_000_000, 0, "huge")
    result = backend.measure(huge.step, np.ones(huge.graph.n_ops, int), QUICK)
    assert result.status == "oom"
    assert "OOM when allocating tensor with shape[1000000,1000000]" in result.reason
    assert backend.measure(small.step, scattered(small.graph), QUICK).status == "ok"
