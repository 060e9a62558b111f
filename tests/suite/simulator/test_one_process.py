"""Tensors in host memory, which the devices of one process hand on without a copy."""

from dataclasses import replace

import pytest
from hand_made import case, machine

from suite.bounds.lower_bound import lower_bound
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.semantics import PRESETS
from suite.simulator.timeline import timeline

OPS = [("a", 0, 5), ("b", 1, 7), ("c", 1, 4)]
TENSORS = [("a", 20, "b"), ("a", 30, "c")]
LINK = {"latency": 100}


@pytest.fixture(params=[simulate, lambda problem, devices: Simulator(problem).run(devices)])
def run(request):
    """Simulate a case under the machine's own rules."""
    return lambda *arguments, **more: request.param(*case(*arguments, **more))


def test_what_is_in_host_memory_arrives_at_once(run):
    # Both transfers take one channel, one behind the other; c waits for the second.
    assert run(OPS, TENSORS, in_host=[0], **LINK).nanoseconds == 5 + 120 + 130 + 4
    # Without a copy b runs from 6 to 13, while the other transfer has the channel to itself.
    result = run(OPS, TENSORS, in_host=[0], one_process=True, **LINK)
    assert result.nanoseconds == 5 + 130 + 4
    assert result.moved.tolist()[0] == 30


def test_it_does_not_let_go_what_another_transfer_holds(run):
    ops = [("a", 0, 5), ("b", 0, 1), ("c", 1, 1), ("d", 1, 1), ("e", 1, 1)]
    tensors = [("a", 20, "c"), ("b", 9, "d"), ("b", 10, "e")]
    # a's tensor is under way until 125; b's second one waits for it, the first for nothing.
    result = run(ops, tensors, in_host=[1], one_process=True, **LINK)
    assert result.nanoseconds == 5 + 120 + 110 + 1


def test_so_does_a_control_edge(run):
    assert run(OPS[:2], [("a", 0, "b")], **LINK).nanoseconds == 5 + 100 + 7
    assert run(OPS[:2], [("a", 0, "b")], one_process=True, **LINK).nanoseconds == 5 + 1 + 7


def test_other_tensors_are_copied_as_ever(run):
    plain, one = (run(OPS, TENSORS, one_process=one, **LINK) for one in (False, True))
    assert plain.same_as(one)


def test_it_keeps_its_ends_from_computing_like_any_other(run):
    ops = [("a", 0, 5), ("b", 1, 20), ("c", 1, 7), ("d", 0, 3)]
    ends = {"send_overhead": 4e-9, "receive_overhead": 3e-9, "one_process": True, **LINK}
    # a's device pauses until 9, then runs d; c runs when b has ended and the pause is over.
    result = run(ops, [("a", 0, "c")], **ends)
    assert result.nanoseconds == 20 + 3 + 7
    assert timeline(*case(ops, [("a", 0, "c")], **ends)).start.tolist() == [0, 0, 23, 9]


def test_with_a_gap_as_well(run):
    result = run(OPS, TENSORS, in_host=[0], one_process=True, gap=2e-9, **LINK)
    assert result.nanoseconds == 5 + 130 + 4


def test_the_bound_lets_it_cross_for_nothing():
    # a runs on the CPU alone, and b takes long there: what a makes is better sent.
    bounds = []
    for one in (False, True):
        problem, devices = case(OPS[:2], TENSORS[:1], in_host=[0], one_process=one, **LINK)
        seconds = {"cpu": [5e-9, 1e-6], "gpu": [5e-9, 7e-9]}
        graph = replace(problem.graph, gpu_kernel=[False, True], seconds=seconds)
        problem = Problem.create(graph, problem.machine)
        bounds.append(1e9 * lower_bound(problem).seconds)
        assert Simulator(problem).run(devices).nanoseconds == pytest.approx(bounds[-1])
    assert bounds == pytest.approx([5 + 120 + 7, 5 + 1 + 7])


def test_a_trace_shows_copies_alone():
    line = timeline(*case(OPS, TENSORS, in_host=[0], one_process=True, **LINK))
    assert (len(line.tensor), line.copies().tensor.tolist()) == (2, [1])
    sent = [e for e in line.to_chrome()["traceEvents"] if e.get("cat") == "transfer"]
    assert [e["args"]["bytes"] for e in sent] == [30]


def test_peers_know_nothing_of_it():
    plain, one = (case(OPS, TENSORS, in_host=[0], one_process=o, **LINK) for o in (False, True))
    for rules in list(PRESETS.values())[1:]:
        lines = [timeline(*each, semantics=rules) for each in (plain, one)]
        assert lines[0].result.same_as(lines[1].result)
        assert lines[1].copies().tensor.tolist() == [0, 1]
        assert lines[1].copied.tolist() == lines[0].copied.tolist()


def test_a_machine_says_so_with_true_or_false():
    assert machine(2, one_process=True).fingerprint != machine(2).fingerprint
    with pytest.raises(InputError, match="one_process is 'yes'; write true or false"):
        machine(2, one_process="yes")
