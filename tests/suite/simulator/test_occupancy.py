"""Transfers that keep their ends from computing, and the stack of ready operations, by hand."""

import pytest
from hand_made import case, machine

from suite.core.errors import InputError
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.semantics import PRESETS

SEND, RECEIVE = {"send_overhead": 4e-9}, {"receive_overhead": 3e-9}
WAIT = {"scheduling_latency": 6e-9}


@pytest.fixture(params=[simulate, lambda problem, devices: Simulator(problem).run(devices)])
def run(request):
    """Simulate a case under the machine's own rules."""
    return lambda *arguments, **more: request.param(*case(*arguments, **more))


def test_a_sender_computes_on_after_what_it_sends(run):
    ops, tensors = [("a", 0, 5), ("b", 0, 7), ("c", 1, 1)], [("a", 10, "c")]
    assert run(ops, tensors).nanoseconds == 5 + 10 + 1
    result = run(ops, tensors, **SEND)
    assert result.nanoseconds == max(5 + 4 + 7, 5 + 10 + 1)
    assert result.busy.tolist() == [12, 1]
    assert run(ops, tensors, **SEND, copy_bandwidth=5e9).nanoseconds == 5 + (4 + 2) + 7


def test_a_sender_pauses_for_every_transfer_of_an_operation(run):
    ops = [("a", 0, 5), ("b", 0, 7), ("c", 1, 1), ("d", 1, 1)]
    assert run(ops, [("a", 1, "c"), ("a", 1, "d")], **SEND).nanoseconds == 5 + 2 * 4 + 7


def test_what_stays_on_a_device_costs_nothing(run):
    ops, tensors = [("a", 0, 5), ("b", 0, 7), ("c", 1, 1)], [("a", 10, "b")]
    assert run(ops, tensors, **SEND, **RECEIVE).nanoseconds == 12


def test_an_idle_receiver_pays_nothing_beyond_the_transfer(run):
    ops, tensors = [("a", 0, 5), ("b", 1, 7)], [("a", 10, "b")]
    assert run(ops, tensors, **RECEIVE).nanoseconds == 5 + 10 + 7


def test_a_busy_receiver_pays_after_what_it_runs(run):
    ops = [("a", 0, 5), ("b", 1, 20), ("c", 1, 7)]
    assert run(ops, [("a", 10, "c")], **RECEIVE).nanoseconds == 20 + 3 + 7


def test_what_arrives_during_a_pause_prolongs_it(run):
    # b sends (4 ns from 10 on); a's tensor arrives at 12 and costs 3 more: d runs from 17.
    ops = [("a", 0, 2), ("b", 1, 10), ("c", 0, 1), ("d", 1, 5)]
    result = run(ops, [("a", 10, "d"), ("b", 0, "c")], **SEND, **RECEIVE)
    assert result.nanoseconds == 10 + 4 + 3 + 5


def test_what_is_sent_beside_work_waits_for_a_core(run):
    """a is followed by b on its sender; c, the last there, by nothing."""
    ops = [("a", 0, 5), ("b", 0, 7), ("d", 1, 1), ("e", 1, 1)]
    assert run(ops, [("a", 10, "d")], **WAIT).nanoseconds == 5 + 10 + 6 + 1
    assert run(ops, [("b", 10, "e")], **WAIT).nanoseconds == 5 + 7 + 10 + 1
    # Two at a time: the second starts when the first has arrived, and b has ended by then.
    later = [("a", 10, "d"), ("a", 10, "e")]
    assert run(ops, later, **WAIT).nanoseconds == 5 + 10 + 6 + 10 + 1
    # A sender that pauses only for what it sends has nothing else to do.
    assert run(ops, [("b", 10, "e")], **WAIT, **SEND).nanoseconds == 5 + 7 + 10 + 1
    assert run(ops, [("a", 10, "d")], **WAIT, **SEND).nanoseconds == 5 + 10 + 6 + 1


def test_a_stack_runs_first_what_was_made_ready_last(run):
    # a makes b and c ready; c, the later one, makes d ready, which runs before b.
    ops = [("a", 0, 1), ("b", 0, 10), ("c", 0, 2), ("d", 0, 3), ("e", 1, 1)]
    tensors = [("a", 1, "bc"), ("c", 1, "d"), ("d", 1, "e")]
    assert run(ops, tensors).nanoseconds == 1 + 10 + 2 + 3 + 1 + 1
    assert run(ops, tensors, dispatch="stack").nanoseconds == 1 + 2 + 3 + 10


def test_what_arrives_waits_below_the_stack_in_order(run):
    # While a runs, x, then y make p and q ready; a's own reader b goes first, then p, then q.
    ops = [
        ("x", 1, 1),
        ("y", 1, 1),
        ("a", 0, 9),
        ("b", 0, 5),
        ("p", 0, 4),
        ("q", 0, 2),
        ("z", 1, 1),
    ]
    tensors = [("x", 1, "p"), ("y", 1, "q"), ("a", 1, "b"), ("b", 1, "z")]
    result = run(ops, tensors, dispatch="stack")
    assert result.nanoseconds == 9 + 5 + 4 + 2
    assert run(ops, [*tensors, ("p", 30, "z")], dispatch="stack").nanoseconds == 9 + 5 + 4 + 30 + 1


def test_everything_on_one_device_takes_its_work_under_both_orders(run):
    ops = [(name, 0, 3) for name in "abcdef"]
    tensors = [("a", 1, "cd"), ("b", 1, "de"), ("c", 1, "f")]
    for dispatch in ("fifo", "stack"):
        assert run(ops, tensors, dispatch=dispatch).nanoseconds == 18


def test_peers_know_neither(run):
    ops, tensors = [("a", 0, 5), ("b", 0, 7), ("c", 1, 1)], [("a", 10, "c")]
    problem, devices = case(ops, tensors, dispatch="stack", **SEND, **RECEIVE, **WAIT)
    plain, _ = case(ops, tensors)
    for rules in list(PRESETS.values())[1:]:
        assert (
            Simulator(problem, None, rules)
            .run(devices)
            .same_as(simulate(plain, devices, None, rules))
        )


def test_machines_without_them_keep_their_fingerprint():
    before = machine(2)
    assert machine(2, send_overhead=0.0, receive_overhead=0.0).fingerprint == before.fingerprint
    prints = {before.fingerprint, machine(2, dispatch="stack").fingerprint}
    others = SEND, RECEIVE, WAIT, {"scheduling_latency": 7e-9}, {"copy_bandwidth": 1e9}
    prints |= {machine(2, **ends).fingerprint for ends in others}
    assert len(prints) == 7


def test_an_unknown_dispatch_is_refused():
    with pytest.raises(InputError, match="dispatch is 'lifo'; one of fifo, stack"):
        machine(2, dispatch="lifo")
    with pytest.raises(InputError, match="copy_bandwidth is 0; give a number > 0"):
        machine(2, copy_bandwidth=0)
