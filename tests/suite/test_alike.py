"""Devices that are alike are reckoned with once, and every bound stays what it is for each."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs

from suite.bounds.alike import Alike
from suite.bounds.critical_path import release_and_delivery
from suite.bounds.load_balance import Load
from suite.bounds.serialisation import serial_release_and_delivery
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.durations import nanoseconds

DEVICE = {"memory": 20_000, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
FAR, NEAR = {"bandwidth": 1e9, "latency": 2e-8}, {"bandwidth": 1e10, "latency": 1e-9}


def islands(*sizes, odd=()):
    """A CPU and islands of GPUs with fast links inside; what is ``odd`` is nearer to the CPU."""
    names = [f"gpu:{i}" for i in range(sum(sizes))]
    island = np.repeat(np.arange(len(sizes)), sizes)
    links = [FAR]
    links += [
        {**NEAR, "from": a, "to": b}
        for a, i in zip(names, island, strict=True)
        for b, j in zip(names, island, strict=True)
        if i == j and a != b
    ]
    links += [{**NEAR, "from": "cpu", "to": names[i]} for i in odd]
    devices = [{"name": "cpu:0", "kind": "cpu", **DEVICE}]
    devices += [{"name": name, "kind": "gpu", **DEVICE} for name in names]
    return machine_from_table({"name": "islands", "device": devices, "link": links})


ONE = OpGraph.create("one", ["a"], ["Op"], [], [], seconds={"cpu": [2.0], "gpu": [1.0]})
MACHINES = [islands(2, 2), islands(3), islands(2, 1), islands(2, 2, odd=(0,)), islands(1)]


@pytest.mark.parametrize(
    ("machine", "kinds"),
    [
        (islands(2, 2), [0, 1, 1, 1, 1]),
        (islands(3, 1), [0, 1, 1, 1, 1]),
        # The CPU reaches two faster than the third.
        (islands(2, 1, odd=(0, 1)), [0, 1, 1, 2]),
        # It reaches one faster, which its neighbour on the island is near, the others are not.
        (islands(2, 2, odd=(0,)), [0, 1, 2, 3, 3]),
    ],
)
def test_what_sees_the_same_is_alike(machine, kinds):
    assert Alike.of(Problem.create(ONE, machine)).kind.tolist() == kinds


def test_memory_and_times_tell_devices_apart():
    machine = islands(3)
    larger = replace(machine.devices[2], memory=40_000)
    devices = (*machine.devices[:2], larger, machine.devices[3])
    problem = Problem.create(ONE, replace(machine, devices=devices))
    assert Alike.of(problem).kind.tolist() == [0, 1, 2, 1]
    slower = problem.seconds.copy()
    slower[0, 3] *= 2
    assert Alike.of(Problem(problem.graph, machine, slower)).kind.tolist() == [0, 1, 1, 2]


@settings(max_examples=100, deadline=None)
@given(graphs(), st.sampled_from(MACHINES))
def test_every_device_gets_what_it_gets_alone(graph, machine):
    problem = Problem.create(graph, machine)
    alike = Alike.of(problem)
    allowed = problem.allowed[graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds), 0)
    of_kinds = durations[:, alike.firsts]
    for bound in (release_and_delivery, serial_release_and_delivery):
        for alone, once in zip(
            bound(problem, durations), bound(problem, of_kinds, alike), strict=True
        ):
            assert np.array_equal(alone, once[:, alike.kind])
    alone, once = Load.of(problem, durations), Load.of(problem, of_kinds, alike)
    assert np.array_equal(alone.work, once.work)
    assert alone.sizes.tolist() == once.sizes.tolist()
