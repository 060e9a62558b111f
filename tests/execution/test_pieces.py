"""Steps in pieces tell what transfers take in the midst of a step."""

from dataclasses import replace

import numpy as np
import pytest
from unrolled import unrolled

from suite.core.problem import Problem
from suite.core.uncertainty import LinkSpread
from suite.execution.measurement import Backend, Measurement, Step
from suite.execution.profiling.devices import DeviceFigures
from suite.execution.profiling.links import Fit, Occupancy
from suite.execution.profiling.machine_file import machine_of, machine_toml
from suite.execution.profiling.pieces import (
    SHAPES,
    fit_seconds,
    in_pieces,
    in_the_midst,
    mean_error,
    measure_pieces,
    slowed,
    waiting,
)
from suite.execution.profiling.profiler import HostProfile
from suite.formats.machine_toml import machine_from_table
from suite.simulator.reference import simulate

LATENCY = 2e-5
BETWEEN = {(0, 1), (0, 2), (1, 0), (2, 0)}
"""The CPU and the GPUs."""


def problem(latency=LATENCY, **more):
    """One CPU and two GPUs, which take 1 us a product of the CPU's 2."""
    graph = unrolled(steps=12, layers=2)
    fixed = np.array([name.startswith("sum") for name in graph.op_names])
    device = {"memory": "1 GB", "memory_bandwidth": 1e9, "launch_overhead": 1e-6}
    table = {
        "name": "host",
        "device": [
            {"name": "cpu:0", "kind": "cpu", "peak_flops": 5e8, **device},
            {"name": "gpu", "count": 2, "kind": "gpu", "peak_flops": 1e9, **device},
        ],
        "link": [
            {"bandwidth": 1e9, "latency": latency, "channel": "pair", "gap": 5e-6, **more},
            {"from": "gpu", "to": "gpu", "bandwidth": 1e9, "latency": 1e-6, "channel": "pair"},
        ],
    }
    return Problem.create(replace(graph, gpu_kernel=~fixed), machine_from_table(table))


class SlowLinks(Backend):
    """A host on which a transfer in a step takes ``latency`` seconds, or what ``more`` says."""

    name = "session"
    device_names = ("/device:CPU:0", "/device:GPU:0", "/device:GPU:1")

    def __init__(self, latency, **more):
        self.host = problem(latency, **more)

    def measure(self, step, devices, timing):
        step_time = simulate(self.host, devices).step_time
        return Measurement("ok", step_times=(step_time,) * timing.steps)


def measured(tmp_path, latency=LATENCY, **more):
    here = problem()
    step = Step(tmp_path / "step.pb", here.graph.op_names)
    return [measure_pieces(SlowLinks(latency, **more), here, step)]


@pytest.mark.parametrize("added", [1e-5, 7e-5])
def test_what_transfers_take_longer_in_steps_is_found(added, tmp_path):
    found = measured(tmp_path, LATENCY + added)
    assert fit_seconds(found, slowed) == pytest.approx(added, rel=0.02)
    assert mean_error(found, slowed, added) < 0.01 < mean_error(found, slowed, 0.0)


def test_what_transfers_beside_work_wait_for_a_core_is_found(tmp_path):
    found = measured(tmp_path, scheduling_latency=3e-5)
    assert fit_seconds(found, waiting) == pytest.approx(3e-5, rel=0.05)
    found, words = in_the_midst(profile(), found)
    assert words.startswith("30 us more a transfer that is sent beside work: simulated 0.")
    links = machine_of(found, {}).link_of
    waits = {pair: link.scheduling_latency for pair, link in links.items()}
    assert {pair for pair, seconds in waits.items() if seconds} == BETWEEN
    assert max(waits.values()) == pytest.approx(3e-5, rel=0.05)
    assert all(link.latency <= LATENCY for link in links.values())


def profile():
    """By which a transfer in a step takes no longer than by itself."""
    machine = problem().machine
    figures = DeviceFigures(1e9, 1e9, 1e-6, 1e-6, 1.0)
    ends = Occupancy(0.0, 0.0, np.inf, 0.0)
    links = {
        (s, t): (Fit(link.latency, link.bandwidth, 0.0, link.gap), ends)
        for (s, t), link in machine.link_of.items()
    }
    spreads = dict.fromkeys(links, LinkSpread(0.1, 0.1, 0.1, 0.1))
    return HostProfile(machine, (figures,) * 3, links, 0.0, (0.1,) * 3, spreads)


def test_a_profile_takes_it_for_its_links_between_cpu_and_gpu(tmp_path):
    found, words = in_the_midst(profile(), measured(tmp_path, LATENCY + 5e-5))
    assert "50 us more on all: 0." in words
    links = machine_of(found, {}).link_of
    latencies = {pair: link.latency for pair, link in links.items()}
    assert {pair for pair, one in latencies.items() if one > 6e-5} == BETWEEN
    assert not any(link.scheduling_latency for link in links.values())
    assert latencies[1, 2] == latencies[2, 1] == 1e-6
    written = machine_toml("host", found, "a test", {})
    assert "# latencies: 50 us of them in steps in pieces only" in written


def test_transfers_never_get_faster_than_by_themselves(tmp_path):
    assert fit_seconds(measured(tmp_path, LATENCY / 2), slowed) == 0.0


def test_pieces_are_whole_classes_of_which_none_lies_where_it_cannot_run():
    here = problem()
    graph, runs = here.graph, here.allowed[:, 1]
    placements = list(in_pieces(here))
    assert len(placements) == 2 * len(SHAPES)
    for devices, (_, every) in zip(placements, np.repeat(SHAPES, 2, axis=0), strict=True):
        of_class = [set(devices[graph.colocation == c].tolist()) for c in range(graph.n_classes)]
        assert all(len(one) == 1 for one in of_class)
        places = np.array([one.pop() for one in of_class])
        assert set(places) == {0, 1}
        assert not places[~runs].any()
        few = min(np.count_nonzero(places[runs] == d) for d in (0, 1))
        assert few == pytest.approx(runs.sum() / every, abs=10)


def test_two_servers_are_a_pair_as_well():
    """Without a GPU, pieces lie on two CPUs, and all links between CPUs take longer."""
    two, gpus = problem().machine.with_gpus(0), problem().machine
    cpus = replace(two, devices=(*two.devices, replace(two.devices[0], name="cpu:1")))
    here = Problem.create(unrolled(steps=12, layers=2), cpus)
    assert all(set(devices) == {0, 1} for devices in in_pieces(here))
    assert slowed(cpus, 1e-3).link_of[0, 1].latency == pytest.approx(LATENCY + 1e-3)
    assert slowed(gpus, 1e-3).link_of[1, 2].latency == 1e-6
