"""Steps of a few operations worked out by hand, by the reference and by the compiled simulator."""

import pytest
from hand_made import case, machine

from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate


@pytest.fixture(params=["reference", "compiled"])
def run(request):
    """Simulate a case: ``run(ops, tensors, policy=..., **case)``."""

    def simulator(ops, tensors, policy="fifo", **arguments):
        problem, devices = case(ops, tensors, **arguments)
        if request.param == "reference":
            return simulate(problem, devices, policy)
        return Simulator(problem, policy).run(devices)

    return simulator


def moved(result, devices, channel="pair"):
    """Bytes of every channel that moved any."""
    channels = machine(devices, channel).channels[0]
    return {n: b for n, b in zip(channels, result.moved.tolist(), strict=True) if b}


def test_a_chain_on_one_device(run):
    result = run([("a", 0, 5), ("b", 0, 7)], [("a", 10, "b"), ("b", 3, "")])
    assert result.nanoseconds == 12
    assert result.step_time == 12e-9
    assert result.busy.tolist() == [12]
    assert result.peak_memory.tolist() == [13]
    assert result.moved.tolist() == []
    assert result.oom.tolist() == [False]


def test_a_chain_across_devices_pays_latency_and_bytes(run):
    result = run([("a", 0, 5), ("b", 1, 7)], [("a", 10, "b")], latency=2)
    assert result.nanoseconds == 5 + 2 + 10 + 7
    assert result.busy.tolist() == [5, 7]
    assert result.peak_memory.tolist() == [10, 10]
    assert moved(result, 2) == {"cpu:0->gpu:0": 10}


def test_devices_work_side_by_side(run):
    result = run([("a", 0, 5), ("b", 1, 7)], [])
    assert result.nanoseconds == 7
    assert result.busy.tolist() == [5, 7]


def test_computation_overlaps_with_transfers(run):
    result = run([("a", 0, 5), ("b", 1, 7), ("c", 0, 9)], [("a", 10, "b")])
    assert result.nanoseconds == 5 + 10 + 7
    assert result.busy.tolist() == [14, 7]


def test_two_readers_on_one_device_share_a_transfer(run):
    ops = [("a", 0, 5), ("b", 1, 7), ("c", 1, 3)]
    result = run(ops, [("a", 10, "bc")], latency=2)
    assert result.nanoseconds == 5 + 12 + 7 + 3
    assert result.peak_memory.tolist() == [10, 10]
    assert moved(result, 2) == {"cpu:0->gpu:0": 10}


def test_readers_on_two_devices_need_two_transfers(run):
    ops = [("a", 0, 5), ("b", 1, 7), ("c", 2, 3)]
    result = run(ops, [("a", 10, "bc")], latency=2)
    assert result.nanoseconds == 5 + 12 + 7
    assert result.peak_memory.tolist() == [10, 10, 10]
    assert moved(result, 3) == {"cpu:0->gpu:0": 10, "cpu:0->gpu:1": 10}


@pytest.mark.parametrize(("device", "expected"), [(0, 12), (1, 14)])
def test_a_control_edge_costs_the_latency_across_devices_only(run, device, expected):
    result = run([("a", 0, 5), ("b", device, 7)], [("a", 0, "b")], latency=2)
    assert result.nanoseconds == expected
    assert moved(result, device + 1) == {}


def test_an_operation_waits_for_all_its_inputs(run):
    ops = [("a", 0, 5), ("b", 1, 20), ("c", 0, 1)]
    result = run(ops, [("a", 10, "c"), ("b", 10, "c")])
    assert result.nanoseconds == 20 + 10 + 1


def test_a_pair_of_devices_sends_one_tensor_at_a_time(run):
    ops = [("a", 0, 5), ("b", 1, 1), ("c", 1, 1)]
    result = run(ops, [("a", 10, "b"), ("a", 20, "c")])
    assert result.nanoseconds == 5 + 10 + 20 + 1


def test_a_copy_is_allocated_while_its_transfer_waits(run):
    """Allocated when sent, b's input would be freed before the third copy: a peak of 20."""
    ops = [("a", 0, 5), ("b", 1, 1), ("c", 1, 1), ("d", 1, 1)]
    result = run(ops, [("a", 10, "b"), ("a", 10, "c"), ("a", 10, "d")])
    assert result.nanoseconds == 5 + 30 + 1
    assert result.peak_memory.tolist() == [30, 30]


BOTH_WAYS = (
    [("a", 0, 5), ("b", 1, 5), ("c", 1, 1), ("d", 0, 1)],
    [("a", 10, "c"), ("b", 10, "d")],
)


@pytest.mark.parametrize("channel", ["pair", "copy-engines"])
def test_a_send_and_a_receive_overlap(run, channel):
    assert run(*BOTH_WAYS, channel=channel).nanoseconds == 5 + 10 + 1


def test_a_shared_root_carries_one_transfer_at_a_time(run):
    result = run(*BOTH_WAYS, channel="shared")
    assert result.nanoseconds == 5 + 10 + 10 + 1
    assert moved(result, 2, "shared") == {"shared": 20}


def test_copy_engines_send_to_one_device_after_another(run):
    ops = [("a", 0, 5), ("b", 1, 7), ("c", 2, 7)]
    result = run(ops, [("a", 10, "bc")], channel="copy-engines")
    assert result.nanoseconds == 5 + 10 + 10 + 7
    sent = {"cpu:0 send": 20, "gpu:0 receive": 10, "gpu:1 receive": 10}
    assert moved(result, 3, "copy-engines") == sent


def test_copy_engines_receive_from_one_device_after_another(run):
    ops = [("a", 0, 5), ("b", 1, 5), ("c", 2, 7)]
    result = run(ops, [("a", 10, "c"), ("b", 10, "c")], channel="copy-engines")
    assert result.nanoseconds == 5 + 10 + 10 + 7


def test_a_transfer_overtakes_an_earlier_one_that_is_blocked(run):
    """cpu:0 sends 100 bytes to gpu:0; its next, to gpu:1, waits; gpu:0 -> gpu:1 need not."""
    ops = [("a", 0, 5), ("b", 1, 6), ("c", 1, 1), ("d", 2, 1), ("e", 2, 200)]
    tensors = [("a", 100, "c"), ("a", 10, "d"), ("b", 10, "e")]
    result = run(ops, tensors, channel="copy-engines")
    assert result.nanoseconds == 6 + 10 + 200 + 1


def test_freed_channels_go_to_the_earliest_request(run):
    """When gpu:0 has received a's tensor, c's (requested at 6) goes before b's (at 7)."""
    ops = [("a", 0, 5), ("b", 2, 7), ("c", 3, 6), ("d", 1, 1), ("e", 1, 1), ("f", 1, 50)]
    tensors = [("a", 100, "d"), ("b", 10, "e"), ("c", 10, "f")]
    result = run(ops, tensors, channel="copy-engines")
    assert result.nanoseconds == 5 + 100 + 10 + 50 + 1


def alias_chain(*devices):
    ops = [(name, d, 1) for name, d in zip("abc", devices, strict=True)]
    return ops, [("a", 10, "b"), ("b", 10, "c", 0)]


@pytest.mark.parametrize(
    ("devices", "peak"), [((0, 0, 0), [10]), ((0, 0, 1), [10, 10]), ((0, 1, 1), [10, 10])]
)
def test_an_alias_shares_the_buffer_of_its_device(run, devices, peak):
    assert run(*alias_chain(*devices)).peak_memory.tolist() == peak


def test_a_sent_alias_has_its_own_copy(run):
    ops = [("a", 0, 1), ("b", 0, 1), ("c", 1, 1)]
    result = run(ops, [("a", 10, "bc"), ("b", 10, "c", 0)])
    assert result.peak_memory.tolist() == [10, 20]
    assert moved(result, 2) == {"cpu:0->gpu:0": 20}


@pytest.mark.parametrize(("readers", "peak"), [("d", 17), ("", 10)])
def test_a_buffer_lives_as_long_as_its_last_alias(run, readers, peak):
    """c allocates 7 bytes after b; the 10 are still there if d reads b's alias of them."""
    ops = [(name, 0, 1) for name in "abcd"]
    tensors = [("a", 10, "b"), ("b", 10, readers, 0), ("b", 0, "c"), ("c", 7, "d")]
    assert run(ops, tensors).peak_memory.tolist() == [peak]


@pytest.mark.parametrize(("wait", "peak"), [(1, 14), (20, 10)])
def test_an_original_is_held_until_its_transfer_has_arrived(run, wait, peak):
    """a's 10 bytes travel from 5 to 15; d allocates 4 bytes at 5 + wait."""
    ops = [("a", 0, 5), ("b", 1, 1), ("c", 0, wait), ("d", 0, 1)]
    tensors = [("a", 10, "b"), ("a", 0, "c"), ("c", 0, "d"), ("d", 4, "")]
    assert run(ops, tensors).peak_memory.tolist()[0] == peak


def test_an_unread_output_is_freed_when_its_producer_ends(run):
    result = run([("a", 0, 1), ("b", 0, 1)], [("a", 10, ""), ("b", 7, "")])
    assert result.peak_memory.tolist() == [10]


def test_an_input_is_freed_when_its_last_reader_ends(run):
    """a's 10 bytes are gone when d allocates its 10, b's 5 are not."""
    ops = [(name, 0, 1) for name in "abcde"]
    tensors = [("a", 10, "bc"), ("b", 5, "e"), ("c", 1, "d"), ("d", 10, "e")]
    assert run(ops, tensors).peak_memory.tolist() == [16]


def test_variables_stay(run):
    ops = [("a", 0, 1), ("b", 0, 1), ("c", 1, 1)]
    result = run(ops, [("a", 10, "b")], persistent=[100, 0, 50])
    assert result.peak_memory.tolist() == [110, 50]


def test_gradients_wait_in_memory_for_their_sum(run):
    """Three gradients and their sum; a chain holds two tensors at a time, of aliases one."""
    ops = [(name, 0, 1) for name in "abcs"]
    summed = [("a", 10, "s"), ("b", 10, "s"), ("c", 10, "s"), ("s", 10, "")]
    assert run(ops, summed).peak_memory.tolist() == [40]
    chain = [("a", 10, "b"), ("b", 10, "c"), ("c", 10, "s"), ("s", 10, "")]
    assert run(ops, chain).peak_memory.tolist() == [20]
    aliases = [("a", 10, "b"), ("b", 10, "c", 0), ("c", 10, "s", 1), ("s", 10, "", 2)]
    assert run(ops, aliases).peak_memory.tolist() == [10]


@pytest.mark.parametrize(("memory", "oom"), [(10, [False, False]), (9, [True, True])])
def test_out_of_memory_is_a_peak_above_the_capacity(run, memory, oom):
    result = run([("a", 0, 5), ("b", 1, 7)], [("a", 10, "b")], memory=memory)
    assert result.oom.tolist() == oom
    assert result.nanoseconds == 22


def test_only_the_device_over_its_capacity_is_out_of_memory(run):
    ops = [("a", 0, 5), ("b", 1, 7)]
    result = run(ops, [("a", 10, "b"), ("b", 5, "")], memory=12)
    assert result.oom.tolist() == [False, True]


READY_TOGETHER = (
    [("a", 0, 1), ("b", 0, 10), ("c", 0, 1), ("d", 1, 20)],
    [("a", 0, "bc"), ("c", 4, "d")],
)


def test_operations_ready_together_run_in_topological_order(run):
    assert run(*READY_TOGETHER).nanoseconds == 1 + 10 + 1 + 4 + 20


def test_the_priority_policy_runs_the_longer_path_first(run):
    result = run(*READY_TOGETHER, policy="priority")
    assert result.nanoseconds == 1 + 1 + 4 + 20
    assert result.busy.tolist() == [12, 20]


def test_first_come_first_served_whatever_the_topological_order(run):
    """cpu:0 serves d (its input comes at 3) before c (at 8), though both wait until 10."""
    ops = [("w", 0, 10), ("a", 1, 2), ("b", 1, 5), ("c", 0, 20), ("d", 0, 1), ("e", 1, 50)]
    tensors = [("a", 1, "d"), ("b", 1, "c"), ("d", 1, "e")]
    assert run(ops, tensors).nanoseconds == 10 + 1 + 1 + 50


@pytest.mark.parametrize(
    ("nanoseconds", "expected"), [(0, 1), (0.2, 1), (1.4, 1), (1.6, 2), (2.5, 2), (3.5, 4)]
)
def test_durations_are_whole_nanoseconds_and_at_least_one(run, nanoseconds, expected):
    assert run([("a", 0, nanoseconds)], []).nanoseconds == expected


def test_a_transfer_takes_at_least_a_nanosecond(run):
    assert run([("a", 0, 5), ("b", 1, 7)], [("a", 0, "b")]).nanoseconds == 5 + 1 + 7


def test_an_alias_is_found_beside_readers_that_produce_nothing(run):
    """c and d read what b hands on; more readers than producers must not confuse which."""
    ops = [("a", 0, 1), ("b", 0, 1), ("c", 1, 1), ("d", 0, 1)]
    tensors = [("a", 0, "cd"), ("a", 10, "bcd"), ("b", 10, "d", 1), ("b", 7, "cd")]
    assert run(ops, tensors).peak_memory.tolist() == [17, 17]
