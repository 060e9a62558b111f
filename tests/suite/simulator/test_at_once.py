"""Devices that run several operations at once, and channels that send one tensor behind another."""

import pytest
from hand_made import case, machine

from suite.bounds.lower_bound import lower_bound
from suite.core.errors import InputError
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.result import TooLong
from suite.simulator.semantics import PRESETS
from suite.simulator.timeline import timeline

SEND, RECEIVE = {"send_overhead": 4e-9}, {"receive_overhead": 3e-9}


@pytest.fixture(params=[simulate, lambda problem, devices: Simulator(problem).run(devices)])
def run(request):
    """Simulate a case under the machine's own rules."""
    return lambda *arguments, **more: request.param(*case(*arguments, **more))


def test_independent_operations_run_at_once_as_far_as_there_are_lanes(run):
    ops = [("a", 0, 5), ("b", 0, 7), ("c", 0, 4), ("d", 0, 2)]
    # With two lanes c follows a at 5, and d follows b at 7; both end at 9.
    assert [run(ops, [], parallelism=k).nanoseconds for k in (1, 2, 3, 4)] == [18, 9, 7, 7]
    assert run(ops, [], parallelism=2).busy.tolist() == [9]


def test_a_chain_gains_nothing_from_lanes(run):
    ops = [("a", 0, 5), ("b", 0, 7), ("c", 0, 4)]
    assert run(ops, [("a", 1, "b"), ("b", 1, "c")], parallelism=3).nanoseconds == 16


def test_time_in_which_nothing_runs_is_not_busy(run):
    # a and b run at once; d waits for what b sends to c and gets back.
    ops = [("a", 0, 3), ("b", 0, 5), ("c", 1, 2), ("d", 0, 1)]
    result = run(ops, [("b", 10, "c"), ("c", 10, "d")], parallelism=2)
    assert result.nanoseconds == 5 + 10 + 2 + 10 + 1
    assert result.busy.tolist() == [5 + 1, 2]


def test_a_sending_lane_pauses_while_the_other_computes(run):
    ops = [("a", 0, 5), ("b", 0, 9), ("c", 1, 1), ("d", 0, 3)]
    # a's lane pauses until 9, when b's is free as well: d runs from 9.
    assert run(ops, [("a", 1, "c")], parallelism=2, **SEND).nanoseconds == 12
    assert run(ops, [("a", 1, "c")], parallelism=2).nanoseconds == 9


def test_a_receiver_with_an_idle_lane_pays_nothing(run):
    ops = [("a", 0, 5), ("b", 1, 20), ("c", 1, 7)]
    assert run(ops, [("a", 10, "c")], parallelism=2, **RECEIVE).nanoseconds == 5 + 10 + 7
    assert run(ops, [("a", 10, "c")], parallelism=1, **RECEIVE).nanoseconds == 20 + 3 + 7


def test_a_tensor_follows_another_after_the_gap(run):
    ops = [("a", 0, 5), ("b", 1, 1), ("c", 1, 1)]
    tensors = [("a", 4, "b"), ("a", 6, "c")]
    # The first holds the channel for 2 + 4, the second arrives 20 + 6 later.
    assert run(ops, tensors, latency=20, gap=2e-9).nanoseconds == 5 + (2 + 4) + (20 + 6) + 1
    assert run(ops, tensors, latency=20).nanoseconds == 5 + (20 + 4) + (20 + 6) + 1


def test_engines_are_held_for_the_gap_alone(run):
    # gpu:1 receives from both others: its engine takes the second behind the first.
    ops = [("a", 0, 5), ("b", 1, 5), ("c", 2, 1), ("d", 2, 1)]
    tensors = [("a", 4, "c"), ("b", 4, "d")]
    result = run(ops, tensors, channel="copy-engines", latency=20, gap=1e-9)
    assert result.nanoseconds == 5 + (1 + 4) + (20 + 4) + 1


def test_the_step_is_no_shorter_for_a_channel_that_is_free(run):
    assert run([("a", 0, 5), ("b", 1, 1)], [("a", 10, "b")], latency=3, gap=0).nanoseconds == 19


def test_a_deadline_heeds_all_lanes():
    ops = [(name, 0, 10) for name in "abcdefgh"]
    problem, devices = case(ops, [], parallelism=4)
    simulator = Simulator(problem)
    assert simulator.run_until(devices, 20).nanoseconds == 20
    assert isinstance(simulator.run_until(devices, 19), TooLong)


def test_the_bound_shares_work_over_lanes():
    ops = [(name, 0, 10) for name in "abcdefgh"]
    assert lower_bound(case(ops, [], parallelism=4)[0]).seconds == pytest.approx(20e-9)
    assert lower_bound(case(ops, [])[0]).seconds == pytest.approx(80e-9)


def test_peers_know_neither():
    problem, devices = case(
        [("a", 0, 5), ("b", 0, 7), ("c", 1, 1), ("d", 1, 1)],
        [("a", 1, "c"), ("a", 1, "d")],
        parallelism=2,
        latency=20,
        gap=0,
    )
    plain = case(
        [("a", 0, 5), ("b", 0, 7), ("c", 1, 1), ("d", 1, 1)],
        [("a", 1, "c"), ("a", 1, "d")],
        latency=20,
    )
    for rules in list(PRESETS.values())[1:]:
        found = Simulator(problem, semantics=rules).run(devices)
        assert found.same_as(Simulator(plain[0], semantics=rules).run(plain[1]))


def test_overlapping_operations_have_tracks_of_their_own_in_a_trace():
    line = timeline(*case([("a", 0, 5), ("b", 0, 7), ("c", 0, 4)], [], parallelism=2))
    events = [e for e in line.to_chrome()["traceEvents"] if e["ph"] == "X"]
    tracks = {e["name"]: e["tid"] for e in events}
    assert tracks["a"] != tracks["b"]
    assert tracks["c"] == tracks["a"]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"parallelism": 0}, "parallelism is 0; give a whole number from 1"),
        ({"parallelism": 1.5}, "parallelism is 1.5; give a whole number from 1"),
        ({"latency": 2, "gap": 3e-9}, "the gap of a link is 3e-09 s, more than its latency"),
        ({"gap": -1.0}, "gap is -1.0; give a number >= 0"),
    ],
)
def test_what_makes_no_sense_is_refused(more, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        machine(2, **more)


def test_machines_that_do_one_thing_at_a_time_keep_their_fingerprints():
    plain = machine(2, latency=5)
    assert machine(2, latency=5, gap=5e-9).fingerprint == plain.fingerprint
    assert machine(2, latency=5, gap=4e-9).fingerprint != plain.fingerprint
    assert machine(2, latency=5, parallelism=2).fingerprint != plain.fingerprint


@pytest.mark.parametrize(("parallelism", "one_process"), [(1, False), (2, False), (1, True)])
def test_a_sender_that_begins_to_compute_as_its_channel_is_freed(parallelism, one_process):
    """Both simulators, of two arrivals at one instant of which the second makes it compute."""
    ops = [("a", 0, 5), ("b", 2, 5), ("c", 0, 9), ("d", 1, 1), ("e", 2, 1)]
    tensors = [("a", 10, "d"), ("a", 10, "e"), ("b", 10, "c")]
    more = {"parallelism": parallelism, "one_process": one_process, "scheduling_latency": 1e-6}
    problem, devices = case(ops, tensors, channel="copy-engines", **more)
    found = simulate(problem, devices)
    assert Simulator(problem).run(devices).nanoseconds == found.nanoseconds
    # With lanes or one process c is running when a's second transfer could begin.
    waits = parallelism > 1 or one_process
    assert found.nanoseconds == 5 + 10 + (1000 if waits else 0) + 10 + 1
