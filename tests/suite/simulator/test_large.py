"""Machines with more copy engines than a word has bits, and steps of many years."""

from dataclasses import replace

import numpy as np
import pytest
from hand_made import case
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import graphs, placed, random_devices

from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate

DEVICE = {"memory": 20_000, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}


def engines(gpus):
    """A machine of GPUs with two copy engines each, and other channels beside them."""
    devices = [{"name": "cpu:0", "kind": "cpu", **DEVICE}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **DEVICE} for i in range(gpus)]
    links = [
        {"bandwidth": 1e9, "latency": 2e-9, "channel": "copy-engines"},
        {"bandwidth": 1e10, "latency": 0.0, "channel": "pair", "from": "cpu"},
        {"bandwidth": 1e9, "latency": 0.0, "channel": "shared", "from": "gpu:0", "to": "gpu"},
    ]
    return machine_from_table({"name": "engines", "device": devices, "link": links})


@settings(max_examples=20)
@given(graphs(max_ops=40), st.integers(32, 66), st.sampled_from([3, 32]), st.integers(0, 99))
def test_many_copy_engines_are_as_in_the_reference(graph, gpus, used, seed):
    problem = Problem.create(graph, engines(gpus))
    rng = np.random.default_rng(seed)
    # On few devices transfers wait for each other; which they are decides whose words count.
    some = rng.permutation(np.arange(1, gpus + 1))[:used]
    devices = random_devices(problem, rng)
    devices = np.where(devices > 0, some[devices % len(some)], 0)
    assert Simulator(problem).run(devices).same_as(simulate(problem, devices))


@settings(max_examples=50)
@given(
    placed(max_ops=8, min_gpus=1),
    st.sampled_from([0.0, 5e-8]),
    st.sampled_from(["fifo", "priority"]),
)
def test_steps_of_years_are_as_in_the_reference(case, waits, policy):
    problem, devices = case
    free = {"send_overhead": 0.0, "receive_overhead": 0.0, "copy_bandwidth": np.inf}
    free |= {"scheduling_latency": waits}
    # Waits come with several things at once, and without them neither does: of the kernels for such
    # steps, which take half a minute each to compile, these two have every rule and none.
    machine = replace(problem.machine, one_process=waits > 0)
    if not waits:
        free |= {"gap": None}
        alone = tuple(replace(device, parallelism=1) for device in machine.devices)
        machine = replace(machine, devices=alone)
    links = tuple(replace(link, **free) for link in machine.links)
    # An operation takes three years and up to five times as long: no bit is left for a number.
    seconds = problem.seconds * (1e8 / problem.seconds.min())
    slow = Problem(problem.graph, replace(machine, links=links), seconds)
    compiled = Simulator(slow, policy).run(devices)
    assert compiled.same_as(simulate(slow, devices, policy))


def test_nanoseconds_count_in_a_step_of_years():
    years = 3 * 10**17
    chain = [(name, device, years) for name, device in (("a", 1), ("b", 2), ("c", 1))]
    problem, devices = case(chain, [("a", 10, ["b"]), ("b", 7, ["c"])])
    together = Simulator(problem).run(np.ones(3, int)).nanoseconds
    assert together == pytest.approx(3 * years, rel=1e-12)
    assert Simulator(problem).run(devices).nanoseconds == together + 10 + 7
