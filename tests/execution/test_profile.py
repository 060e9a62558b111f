"""Profiles: figures of this host that a machine can be made from; fits worked out by hand."""

import numpy as np
import pytest
from small_steps import cpus, layers

from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.execution.cluster import ClusterBackend
from suite.execution.profiling.links import fit_link, fit_occupancy
from suite.execution.profiling.profiler import (
    machine_toml,
    measure_device,
    measure_link,
    measure_occupancy,
    measure_ops,
    pairs,
)
from suite.formats.machine_toml import load_machine
from suite.formats.measured_costs import with_op_times, write_op_times


def test_a_link_is_found_exactly():
    sizes = np.array([4.0, 1e4, 1e6, 1e7])
    fit = fit_link(sizes, 1e-4 + sizes / 2e9)
    assert fit.latency == pytest.approx(1e-4)
    assert fit.bandwidth == pytest.approx(2e9)
    assert fit.error < 1e-9


def test_a_fit_says_how_far_off_it_is():
    """Alternating deviations of 10 % leave an error of 10 %."""
    sizes = np.array([0.0, 0.0, 1e7, 1e7])
    seconds = np.array([0.9e-4, 1.1e-4, 0.9e-2, 1.1e-2])
    assert fit_link(sizes, seconds).error == pytest.approx(0.1, abs=0.01)


def test_transfers_that_get_faster_with_size_are_refused():
    with pytest.raises(InputError, match="quieter host"):
        fit_link(np.array([1.0, 100.0]), np.array([1.0, 0.5]))


def test_what_a_transfer_occupies_is_found_exactly():
    sizes = np.array([4.0, 1e4, 1e6, 1e7])
    found = fit_occupancy(sizes, 4e-5 + sizes / 3e9, 2e-5 + sizes / 3e9)
    assert found.send_overhead == pytest.approx(4e-5)
    assert found.receive_overhead == pytest.approx(2e-5)
    assert found.copy_bandwidth == pytest.approx(3e9)
    assert found.error < 1e-9


def test_transfers_that_occupy_nobody_are_free():
    """What noise makes negative is nothing."""
    free = fit_occupancy(np.array([4.0, 1e6]), np.array([-1e-6, 0.0]), np.array([0.0, -2e-6]))
    assert (free.send_overhead, free.receive_overhead, free.copy_bandwidth) == (0, 0, np.inf)


def test_this_host_becomes_a_machine(tmp_path):
    small = layers(tmp_path)
    with ClusterBackend(cpus(2)) as backend:
        figures = [measure_device(backend, i, tmp_path) for i in range(2)]
        ends = measure_occupancy(backend, 0, 1, tmp_path)
        fits = {(s, t): (measure_link(backend, s, t, tmp_path), ends) for s, t in pairs(cpus(2))}
        times = measure_ops(backend, small.graph, small.step, 0, 0)
    (tmp_path / "here.toml").write_text(
        machine_toml("here", cpus(2), figures, fits, "a test", "stack")
    )
    machine = load_machine(tmp_path / "here.toml")
    assert machine.dispatch == "stack"
    for link in machine.link_of.values():  # on a busy host small transfers drown in noise
        assert 0 <= link.send_overhead + link.receive_overhead < 0.1
        assert link.copy_bandwidth > 1e8
    for device in machine.devices:
        assert 1e8 < device.peak_flops < 1e14
        assert 1e8 < device.memory_bandwidth < 1e13
        assert device.host_overhead < 1e-3
        assert device.launch_overhead < 1e-3
    for source, target in pairs(machine):
        assert 0 < machine.transfer_seconds(source, target, 4) < 0.1
        assert machine.transfer_seconds(source, target, 1e7) > 1e-4
    write_op_times(small.graph, {"cpu": times.seconds}, tmp_path / "here-ops", "layers")
    timed = with_op_times(small.graph, machine, "layers")
    problem = Problem.create(timed, machine)
    assert problem.seconds[:, 1].sum() == pytest.approx(times.step_time)
    assert with_op_times(small.graph, machine, "another") is small.graph
    with pytest.raises(InputError, match="another capture of layers"):
        with_op_times(timed, machine, "layers")
