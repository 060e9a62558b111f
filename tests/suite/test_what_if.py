"""What a placement takes on other machines, by hand where nothing can run in another order."""

import numpy as np
import pytest
from hand_made import case

from suite.bench.what_if import faster_parts, times_off
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.semantics import PLACEBENCH, preset

CHAIN = [("a", 0, 1000), ("b", 1, 600)], [("a", 4000, "b")]


def outcomes(ops, tensors, semantics=PLACEBENCH, **arguments):
    found = faster_parts(*case(ops, tensors, **arguments), semantics)
    return {one.change: round(one.step_time * 1e9) for one in found}


def test_each_part_of_a_chain_at_twice_its_speed():
    assert outcomes(*CHAIN, latency=200) == {
        "transfers that take no time": 1000 + 1 + 600,
        "transfers twice as fast": 1000 + 100 + 2000 + 600,
        "cpu:0 twice as fast": 500 + 200 + 4000 + 600,
        "gpu:0 twice as fast": 1000 + 200 + 4000 + 300,
    }


def test_what_nothing_is_sent_over_is_not_asked_about():
    assert outcomes([("a", 0, 10), ("b", 0, 6)], [("a", 40, "b")]) == {"cpu:0 twice as fast": 8}


def test_links_are_told_by_their_ends():
    problem, devices = case(*CHAIN)
    links = [
        {"bandwidth": 1e9, "latency": 0.0, "channel": "pair", "from": "cpu", "to": "gpu:0"},
        {"bandwidth": 1e9, "latency": 0.0, "channel": "pair", "from": "gpu"},
    ]
    table = {"name": "hand", "link": links, "device": []}
    for device in problem.machine.devices:
        names = ("name", "kind", "memory", "peak_flops", "memory_bandwidth")
        table["device"].append({n: getattr(device, n) for n in names} | {"launch_overhead": 0})
    other = Problem(problem.graph, machine_from_table(table), problem.seconds)
    found = [one.change for one in faster_parts(other, devices, PLACEBENCH)]
    assert "transfers from cpu to gpu:0 twice as fast" in found
    assert not [change for change in found if change.startswith("transfers from gpu")]


def test_what_something_faster_makes_slower_is_said_as_it_is():
    """Graham's anomaly: what is there sooner goes first, and the long chain waits."""
    # a ends at 4, or 2: b (on the GPU, 10) is ready before or after c (2), which d (20) needs.
    ops = [("a", 0, 4), ("b", 1, 10), ("x", 2, 3), ("c", 1, 2), ("d", 2, 20)]
    tensors = [("a", 0, "b"), ("x", 0, "c"), ("c", 0, "d")]
    problem, devices = case(ops, tensors)
    before = Simulator(problem).run(np.array(devices, np.int32)).nanoseconds
    found = outcomes(ops, tensors)
    assert before == 3 + 1 + 2 + 1 + 20
    assert found["cpu:0 twice as fast"] == 2 + 1 + 10 + 2 + 1 + 20


def off(ops, tensors, **arguments):
    problem, devices = case(ops, tensors)
    devices = np.array(devices, np.int32)
    others = times_off(problem, **arguments)
    return np.array([Simulator(other).run(devices).step_time for other in others])


def test_one_operation_alone_is_off_as_its_time_is():
    alone = [("a", 0, 10**9)], []
    found = off(*alone, share=0.1, draws=400)
    assert np.log(found).mean() == pytest.approx(0, abs=0.02)
    assert np.log(found).std() == pytest.approx(0.1, rel=0.15)
    assert (found == off(*alone, share=0.1, draws=400)).all()


def test_many_operations_in_a_row_are_off_by_less():
    ops = [(f"op{i}", 0, 10**6) for i in range(400)]
    found = off(ops, [(f"op{i}", 0, [f"op{i + 1}"]) for i in range(399)], share=0.1)
    assert found == pytest.approx(0.4, rel=0.03)
    assert len(set(found.tolist())) == len(found)


def test_links_are_not_off():
    found = off([("a", 0, 1), ("b", 1, 1)], [("a", 10**9, "b")], share=0.5)
    assert found == pytest.approx(1, abs=1e-7)


@pytest.mark.parametrize("name", ["placeto", "baechi", "grappler", "hetero"])
def test_parts_are_faster_under_other_rules_too(name):
    found = outcomes([("a", 0, 10), ("b", 1, 6)], [("a", 40, "b")], preset(name))
    assert found["cpu:0 twice as fast"] == 5 + found["gpu:0 twice as fast"] - 7
