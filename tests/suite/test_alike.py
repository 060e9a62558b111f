"""Devices that are alike are reckoned with once, and every bound stays what it is for each."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs

from suite.bounds.alike import HANDED_ON, Alike, least_each_way
from suite.bounds.critical_path import release_and_delivery
from suite.bounds.load_balance import Load
from suite.bounds.serialisation import serial_release_and_delivery
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.durations import nanoseconds

DEVICE = {"memory": 20_000, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
CG = ("cpu", "gpu")
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
    several = replace(machine.devices[1], parallelism=4)
    devices = (machine.devices[0], several, *machine.devices[2:])
    alike = Alike.of(Problem.create(ONE, replace(machine, devices=devices)))
    assert alike.kind.tolist() == [0, 1, 2, 2]
    assert alike.lanes.tolist() == [1, 4, 1]


@pytest.mark.parametrize("ends", [("cpu:0", "gpu:1"), ("gpu:1", "cpu:0")])
@pytest.mark.parametrize("other", [{"latency": 3e-8}, {"bandwidth": 2e9}])
def test_one_figure_of_a_link_one_way_tells_devices_apart(ends, other):
    machine = islands(1, 1, 1)
    link = replace(machine.links[0], source=ends[0], target=ends[1], **other)
    problem = Problem.create(ONE, replace(machine, links=(*machine.links, link)))
    assert Alike.of(problem).kind.tolist() == [0, 1, 2, 1]


def test_between_two_kinds_the_shortest_way_counts():
    """Of two hosts, each with a CPU near its own GPU: 1,000 bytes take 101 ns there, 103 back."""
    devices = [{"name": f"{kind}:{i}", "kind": kind, **DEVICE} for kind in CG for i in range(2)]
    links = [FAR]
    for i in range(2):
        links.append({**NEAR, "from": f"cpu:{i}", "to": f"gpu:{i}"})
        links.append({**NEAR, "latency": 3e-9, "from": f"gpu:{i}", "to": f"cpu:{i}"})
    machine = machine_from_table({"name": "hosts", "device": devices, "link": links})
    alike = Alike.of(Problem.create(ONE, machine))
    assert alike.kind.tolist() == [0, 0, 1, 1]
    sizes = np.array([1000, HANDED_ON])
    assert alike.transfers(sizes).tolist() == [[[0, 101], [103, 0]], [[0, 1], [1, 0]]]
    arrive, leave = least_each_way(machine, alike.kind, sizes, lambda link: link.latency)
    assert (arrive.tolist(), leave.tolist()) == ([[103, 101], [1, 1]], [[101, 103], [1, 1]])
    # All that is near counts from a device to others of its own kind, too.
    near = islands(2).with_gpus(2)
    arrive, leave = least_each_way(near, np.array([0, 1, 1]), sizes, lambda link: link.latency)
    assert (arrive.tolist(), leave.tolist()) == ([[1020, 101], [1, 1]], [[1020, 101], [1, 1]])


@settings(max_examples=100)
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
