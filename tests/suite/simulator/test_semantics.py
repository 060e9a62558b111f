"""Each peer's rules on cases worked out by hand: reference and compiled simulator alike.

Operations are (name, device, nanoseconds), tensors (producer, bytes, readers); links move one byte
per nanosecond and have no latency unless a case says so.
"""

import pytest
from hand_made import case

from suite.core.errors import InputError
from suite.simulator.channels import channels_of
from suite.simulator.compiled.judge import Simulator
from suite.simulator.reference import simulate
from suite.simulator.semantics import PRESETS, Semantics, preset
from suite.simulator.timeline import timeline

REST = 5_700


@pytest.fixture(params=["reference", "compiled"])
def run(request):
    """Simulate a case: ``run(semantics, ops, tensors, **case)``."""

    def simulator(name, ops, tensors, **arguments):
        problem, devices = case(ops, tensors, **arguments)
        if request.param == "reference":
            return simulate(problem, devices, semantics=preset(name))
        return Simulator(problem, semantics=preset(name)).run(devices)

    return simulator


def moved(result, name, ops, tensors, **arguments):
    """Bytes of every channel that moved any."""
    problem, _ = case(ops, tensors, **arguments)
    names = channels_of(problem.machine, preset(name))[0]
    return {n: b for n, b in zip(names, result.moved.tolist(), strict=True) if b}


TWO_DEVICES = ([("a", 0, 5), ("b", 1, 7), ("c", 2, 7)], [("a", 10, "bc")])


@pytest.mark.parametrize(
    ("name", "expected", "channels"),
    [
        ("placebench", 5 + 10 + 7, {"cpu:0->gpu:0": 10, "cpu:0->gpu:1": 10}),
        ("placeto", 5 + 10 + 7 + REST, {"cpu:0 send": 10}),
        # cpu:0's channel: to gpu:0 from 5 to 15, to gpu:1 from 15 to 25.
        ("baechi", 5 + 10 + 10 + 7, {"cpu:0": 20, "gpu:0": 10, "gpu:1": 10}),
        ("grappler", 5 + 7, {"cpu:0->gpu:0": 10, "cpu:0->gpu:1": 10}),
    ],
)
def test_one_tensor_read_on_two_other_devices(run, name, expected, channels):
    result = run(name, *TWO_DEVICES)
    assert result.nanoseconds == expected
    assert moved(result, name, *TWO_DEVICES) == channels


@pytest.mark.parametrize("name", PRESETS)
def test_two_readers_on_one_device_share_a_transfer(run, name):
    ops = [("a", 0, 5), ("b", 1, 7), ("c", 1, 7)]
    result = run(name, ops, [("a", 10, "bc")])
    assert max(result.moved) == 10


@pytest.mark.parametrize("name", ["placeto", "baechi", "grappler"])
def test_the_machines_kind_of_channel_does_not_matter(run, name):
    ends = {run(name, *TWO_DEVICES, channel=c).nanoseconds for c in ("pair", "shared")}
    assert len(ends) == 1


BOTH_WAYS = (
    [("a", 0, 5), ("b", 1, 5), ("c", 1, 1), ("d", 0, 1)],
    [("a", 10, "c"), ("b", 10, "d")],
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("placebench", 5 + 10 + 1),
        ("placeto", 5 + REST + 1 + REST),  # transfers overlap the pause
        # a's: both channels from 5 to 15. b's: sent 15 to 25, received 15 to 25.
        ("baechi", 5 + 10 + 10 + 1),
        ("grappler", 5 + 1),
    ],
)
def test_a_device_that_sends_and_receives(run, name, expected):
    assert run(name, *BOTH_WAYS).nanoseconds == expected


# Placeto


def test_placeto_pauses_a_device_but_not_the_readers(run):
    """a ends at 5 and its tensor comes at 15; c, next on a's device, starts at 5 + 5,700."""
    ops = [("a", 0, 5), ("b", 1, 7), ("c", 0, 1)]
    assert run("placeto", ops, [("a", 10, "b")]).nanoseconds == 5 + REST + 1 + REST
    assert run("placeto", ops[:2], [("a", 10, "b")]).nanoseconds == 5 + 10 + 7 + REST


def test_placeto_pauses_after_the_last_operation_too(run):
    assert run("placeto", [("a", 0, 5)], []).nanoseconds == 5 + REST


def test_placeto_does_not_pause_after_operations_without_a_cost(run):
    """An operation of 0 seconds still takes the simulator's nanosecond."""
    assert run("placeto", [("a", 0, 0), ("b", 0, 5)], []).nanoseconds == 1 + 5 + REST


def test_placeto_blocks_the_bus_and_not_the_reader(run):
    """Latency 25,000: c's tensor arrives at 15; d's starts at 25,015 and blocks the bus as long."""
    ops = [("a", 0, 5), ("c", 1, 100), ("d", 1, 100)]
    tensors = [("a", 10, "c"), ("a", 20, "d")]
    result = run("placeto", ops, tensors, latency=25_000)
    assert result.nanoseconds == 15 + 25_000 + 20 + 25_000
    assert run("placebench", ops, tensors, latency=25_000).nanoseconds == 5 + 50_030 + 100


def test_placeto_sends_through_one_queue_whatever_the_destination(run):
    """b's tensor is sent from 5 to 15 and c's from 15 to 35, though the destinations differ."""
    ops = [("a", 0, 5), ("b", 1, 6_000), ("c", 2, 6_000)]
    result = run("placeto", ops, [("a", 10, "b"), ("a", 20, "c")])
    assert result.nanoseconds == 5 + 10 + 20 + 6_000 + REST


def test_placeto_receives_from_many_at_once(run):
    ops = [("a", 0, 5), ("b", 1, 5), ("c", 2, 7)]
    result = run("placeto", ops, [("a", 10, "c"), ("b", 10, "c")])
    assert result.nanoseconds == 5 + 10 + 7 + REST
    assert run("placebench", ops, [("a", 10, "c"), ("b", 10, "c")]).nanoseconds == 22


def test_placeto_charges_a_control_edge_as_the_first_output(run):
    """b waits for a's control edge: for its 30 bytes; both readers share the one transfer."""
    ops = [("a", 0, 5), ("b", 1, 7_000), ("c", 1, 7)]
    control = [("a", 30, ""), ("a", 0, "b")]
    result = run("placeto", ops[:2], control)
    assert result.nanoseconds == 5 + 30 + 7_000 + REST
    shared = [("a", 30, "c"), ("a", 0, "b")]
    assert moved(run("placeto", ops, shared), "placeto", ops, shared) == {"cpu:0 send": 30}
    assert run("placebench", ops[:2], control).nanoseconds == 5 + 1 + 7_000


def test_a_control_edge_of_an_operation_without_outputs_stays_empty(run):
    assert run("placeto", [("a", 0, 5), ("b", 1, 7)], [("a", 0, "b")]).nanoseconds == 13 + REST


MEMORY = ([("a", 0, 5), ("b", 1, 9)], [("a", 10, "b"), ("a", 20, "b"), ("b", 7, "")])


@pytest.mark.parametrize(
    ("name", "peaks"),
    [
        ("placebench", [130, 37]),  # variables, both outputs; their copies and b's output
        ("placeto", [10, 7]),  # first outputs alone
        ("baechi", [130, 7]),  # variables and outputs, no copies
        ("grappler", [130, 30]),  # variables, outputs that are read, copies
    ],
)
def test_what_counts_as_memory(run, name, peaks):
    result = run(name, *MEMORY, persistent=[100, 0])
    assert result.peak_memory.tolist() == peaks


def test_placeto_holds_an_output_until_its_last_reader_anywhere_has_ended(run):
    """a's 10 bytes have left by 15; d takes its 4 later, while b still runs."""
    ops = [("a", 0, 5), ("b", 1, 20_000), ("c", 0, 20), ("d", 0, 1)]
    tensors = [("a", 10, "b"), ("d", 4, "")]
    assert run("placeto", ops, tensors).peak_memory.tolist() == [14, 0]
    assert run("placebench", ops, tensors).peak_memory.tolist() == [10, 10]


@pytest.mark.parametrize("name", ["placeto", "baechi"])
def test_nobody_is_out_of_memory(run, name):
    assert run(name, *MEMORY, memory=1).oom.tolist() == [False, False]


# Baechi


def test_baechi_books_in_the_order_in_which_operations_become_ready(run):
    """Both are ready at 0: a ends at 100 and is booked first, so b's tensor, sent at 5, waits.

    c's channel is booked from 100 to 110 for a's and from 110 to 120 for b's.
    """
    ops = [("a", 0, 100), ("b", 1, 5), ("c", 2, 7), ("d", 2, 7)]
    result = run("baechi", ops, [("a", 10, "c"), ("b", 10, "d")])
    assert result.nanoseconds == 120 + 7
    assert run("placebench", ops, [("a", 10, "c"), ("b", 10, "d")]).nanoseconds == 110 + 7


def test_baechi_frees_the_sender_though_the_receiver_waits(run):
    """gpu:1 receives a's from 5 to 105; b sends its tensor at 6 to 16, it comes in by 115.

    b's second tensor is sent from 16 to 26, to cpu:0, whose channel is free then.
    """
    ops = [("a", 3, 5), ("b", 1, 6), ("c", 2, 1), ("d", 2, 1), ("e", 0, 200)]
    tensors = [("a", 100, "c"), ("b", 10, "d"), ("b", 10, "e")]
    result = run("baechi", ops, tensors)
    assert result.nanoseconds == 26 + 200
    problem, devices = case(ops, tensors)
    line = timeline(problem, devices, semantics=preset("baechi"))
    assert sorted(line.arrived.tolist()) == [26, 105, 115]


def test_baechi_receives_from_one_at_a_time(run):
    """a's from 5 to 15, b's from 15 to 25."""
    ops = [("a", 0, 5), ("b", 1, 5), ("c", 2, 7)]
    assert run("baechi", ops, [("a", 10, "c"), ("b", 10, "c")]).nanoseconds == 25 + 7


@pytest.mark.parametrize(("name", "expected"), [("baechi", 5 + 2 + 4 + 7), ("grappler", 12)])
def test_a_control_edge_has_four_bytes(run, name, expected):
    ops, control = [("a", 0, 5), ("b", 1, 7)], [("a", 0, "b")]
    result = run(name, ops, control, latency=2)
    assert result.nanoseconds == expected
    assert max(result.moved) == 4


def test_baechi_frees_all_outputs_of_an_operation_together(run):
    """a's 10 bytes, read by b alone, stay until c has read a's 3 bytes."""
    ops = [(name, 0, 1) for name in "abc"]
    tensors = [("a", 10, "b"), ("a", 3, "c"), ("b", 20, "c"), ("c", 30, "")]
    assert run("baechi", ops, tensors).peak_memory.tolist() == [13 + 20 + 30]
    assert run("placebench", ops, tensors).peak_memory.tolist() == [3 + 20 + 30]


def test_baechi_never_frees_what_nobody_reads(run):
    ops = [("a", 0, 1), ("b", 0, 1)]
    tensors = [("a", 10, ""), ("b", 7, "")]
    assert run("baechi", ops, tensors).peak_memory.tolist() == [17]
    assert run("placeto", ops, tensors).peak_memory.tolist() == [10]
    assert run("grappler", ops, tensors).peak_memory.tolist() == [0]


# Grappler


def test_grappler_moves_any_size_in_no_time(run):
    ops, tensors = [("a", 0, 5), ("b", 1, 7)], [("a", 2**26, "b")]
    assert run("grappler", ops, tensors, latency=25_000).nanoseconds == 12


def test_grappler_reads_the_peak_after_inputs_are_freed(run):
    """a's 10 bytes are gone before b's 6 count."""
    ops = [(name, 0, 1) for name in "abc"]
    tensors = [("a", 10, "b"), ("b", 6, "c")]
    assert run("grappler", ops, tensors).peak_memory.tolist() == [10]
    assert run("placebench", ops, tensors).peak_memory.tolist() == [16]


def test_grappler_knows_no_aliases(run):
    ops = [(name, 0, 1) for name in "abcd"]
    tensors = [("a", 10, "bd"), ("b", 10, "c", 0)]
    assert run("grappler", ops, tensors).peak_memory.tolist() == [20]
    assert run("placebench", ops, tensors).peak_memory.tolist() == [10]


@pytest.mark.parametrize(("memory", "oom"), [(11, False), (10, True)])
def test_grappler_is_out_of_memory_when_the_peak_reaches_the_capacity(run, memory, oom):
    result = run("grappler", [("a", 0, 5), ("b", 0, 7)], [("a", 10, "b")], memory=memory)
    assert result.oom.tolist() == [oom]


# Presets


def test_an_unknown_preset_is_refused_with_those_there_are():
    with pytest.raises(InputError, match="'park'; one of placebench, placeto, baechi, grappler"):
        preset("park")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"channels": "bus"}, "channels is 'bus'; one of machine, pair, sender, device"),
        ({"rest": -1.0}, "rest is -1.0 s"),
        ({"broadcast": True}, "use sender and outputs"),
        ({"channels": "device", "rest": 1e-6}, "no rest"),
        ({"memory": "outputs", "alloc_at_end": True}, "allocation at the end is for tensors"),
    ],
)
def test_rules_that_no_simulator_has_are_refused(rules, message):
    with pytest.raises(InputError, match=message):
        Semantics("mine", **rules)


def test_a_trace_shows_a_broadcast_as_one_transfer():
    problem, devices = case(*TWO_DEVICES)
    line = timeline(problem, devices, semantics=preset("placeto"))
    tracks = {e["args"]["name"] for e in line.to_chrome()["traceEvents"] if e["ph"] == "M"}
    assert "cpu:0 -> all" in tracks
    assert line.copies().arrived.tolist() == [15]
