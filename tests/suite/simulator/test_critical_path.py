"""What a step waited for: by hand, and its parts add up to the step under all rules."""

import numpy as np
from hand_made import case
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed

from suite.simulator.critical_path import NOTHING, Blamed, critical_path
from suite.simulator.semantics import KNOWN, PLACEBENCH, preset
from suite.simulator.timeline import timeline


def path_of(ops, tensors, **arguments):
    line = timeline(*case(ops, tensors, **arguments))
    return critical_path(line, PLACEBENCH)


def names(path):
    known = path.line.problem.graph.op_names
    return [known[v.operation] for v in path.visits if v.operation != NOTHING]


def test_a_chain_across_devices_computes_and_sends():
    path = path_of([("a", 0, 5), ("b", 1, 7)], [("a", 10, "b")], latency=2)
    assert names(path) == ["b", "a"]
    assert (path.operations, path.transfers) == (2, 1)
    assert path.computing == {"gpu:0": 7, "cpu:0": 5}
    assert path.sending == {"cpu:0 to gpu:0": 12}
    assert path.behind_operations == path.behind_transfers == path.pausing == {}
    assert path.other_operations == path.other_transfers == []


def test_what_runs_on_its_device_while_an_operation_is_ready_is_told():
    # b is there after 5 ns, when the GPU has c until 30.
    path = path_of([("a", 0, 3), ("c", 1, 30), ("b", 1, 7)], [("a", 2, "b")])
    assert names(path) == ["b", "a"]
    assert path.behind_operations == {"gpu:0": 25}
    assert path.other_operations == [Blamed("Op", "gpu:0", 25)]
    assert (path.computing, path.sending) == ({"gpu:0": 7, "cpu:0": 3}, {"cpu:0 to gpu:0": 2})


def test_what_is_sent_over_its_channel_while_a_tensor_waits_is_told():
    # a's 50 bytes go first, since a ends with b and comes before it; c needs b's 4 alone.
    ops = [("a", 0, 5), ("b", 0, 1), ("late", 1, 1), ("c", 1, 90)]
    path = path_of(ops, [("a", 50, ["late"]), ("b", 4, "c")])
    assert names(path) == ["c", "b"]
    assert path.behind_transfers == {"cpu:0 to gpu:0": 49}
    assert path.other_transfers == [Blamed("a", "cpu:0 to gpu:0", 49)]
    # b was ready at once, but the CPU had a.
    assert path.behind_operations == {"cpu:0": 5}


def test_engines_that_two_devices_share_are_channels_too():
    # Both send to the same GPU, which receives one at a time.
    ops = [("a", 0, 5), ("b", 1, 6), ("late", 2, 1), ("c", 2, 90)]
    tensors = [("a", 50, ["late"]), ("b", 4, "c")]
    path = path_of(ops, tensors, channel="copy-engines")
    assert path.behind_transfers == {"gpu:0 to gpu:1": 49}
    assert path.other_transfers == [Blamed("a", "cpu:0 to gpu:1", 49)]


def test_a_device_that_sends_does_not_compute_meanwhile():
    # The CPU sends a for 6 ns before b, which nothing else keeps.
    ops = [("a", 0, 5), ("b", 0, 40), ("c", 1, 1)]
    path = path_of(ops, [("a", 10, ["b", "c"])], send_overhead=6e-9)
    assert names(path) == ["b", "a"]
    assert path.pausing == {"cpu:0": 6}


def test_a_step_may_end_with_a_transfer_that_comes_late():
    ops = [("a", 0, 5), ("end", 1, 1)]
    path = path_of(ops, [("a", 10, ["end"])], latency=100, gap=0.0)
    assert path.line.result.nanoseconds == 5 + 110 + 1
    assert sum(path.sending.values()) == 110


@settings(max_examples=300)
@given(placed(max_ops=15, min_gpus=1), st.sampled_from(sorted(KNOWN)))
def test_parts_add_up_to_the_step_and_each_waits_for_its_last_input(case, name):
    rules = preset(name)
    line = timeline(*case, semantics=rules)
    path = critical_path(line, rules)
    parts = (
        path.computing,
        path.sending,
        path.behind_operations,
        path.behind_transfers,
        path.pausing,
    )
    assert all(ns > 0 for part in parts for ns in part.values())
    assert sum(sum(part.values()) for part in parts) == line.result.nanoseconds

    graph, seen = line.problem.graph, [v for v in path.visits if v.operation != NOTHING]
    sends = zip(line.tensor.tolist(), line.target.tolist(), line.arrived.tolist(), strict=True)
    arrived = {(tensor, target): at for tensor, target, at in sends}
    for visit in seen:
        came = [0]
        for tensor in graph.edges[0][graph.edges[1] == visit.operation].tolist():
            source = graph.producer[tensor]
            local = line.devices[source] == visit.device
            came.append(line.end[source] if local else arrived[tensor, visit.device])
        assert visit.ready == max(came) <= visit.start
    first = seen[-1].operation
    assert not (graph.edges[1] == first).any()


@settings(max_examples=150)
@given(placed(max_ops=15, min_gpus=1))
def test_one_thing_at_a_time_is_blamed_for_as_long_as_it_was_in_the_way(case):
    """On devices and channels that have one thing at a time, the blame adds up to the wait."""
    line = timeline(*case)
    machine = line.problem.machine
    path = critical_path(line, PLACEBENCH)
    if not machine.parallel:
        blamed = sum(one.nanoseconds for one in path.other_operations)
        assert blamed == sum(path.behind_operations.values())
    if not (machine.pipelined or machine.one_process) and (machine.channels[2] < 0).all():
        blamed = sum(one.nanoseconds for one in path.other_transfers)
        assert blamed == sum(path.behind_transfers.values())


def test_devices_may_be_any_integers():
    problem, devices = case([("a", 0, 5), ("b", 1, 7)], [("a", 10, "b")])
    line = timeline(problem, np.array(devices))
    assert names(critical_path(line, PLACEBENCH)) == ["b", "a"]
