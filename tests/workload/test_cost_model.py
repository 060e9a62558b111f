"""The cost model on splits computed by hand."""

import numpy as np
import pytest
from small_workloads import document, edge, load, node

from suite.core.errors import InputError
from suite.tarnawski.calls import calls
from suite.tarnawski.evaluator import contiguous, score
from suite.tarnawski.workload import Split

# 0 -> 1 -> 3, 0 -> 2 -> 3: times 1, 2, 4, 8 on accelerators, ten times that on CPUs.
DIAMOND = document(
    [node(i, 10.0 * 2**i, 2.0**i, size=2**i) for i in range(4)],
    [edge(0, 1, 0.5), edge(0, 2, 0.5), edge(1, 3, 0.25), edge(2, 3, 0.125)],
    memory=8,
)
CPU = 2


@pytest.fixture
def diamond(tmp_path):
    return load(tmp_path, DIAMOND)


@pytest.mark.parametrize(
    ("device", "loads"),
    [
        # Both readers of 0 are there: its output is paid once by each side.
        ([0, 1, 1, 1], [1 + 0.5, 14 + 0.5, 0]),
        # Node 0 sends to two devices and pays once; each receiver pays.
        ([0, 0, 1, 1], [3 + 0.5 + 0.25, 12 + 0.5 + 0.25, 0]),
        # A CPU pays nothing for what it sends or receives.
        ([0, CPU, 0, 0], [13 + 0.5 + 0.25, 0, 20]),
    ],
)
def test_loads_are_those_of_the_paper(diamond, device, loads):
    found = score(diamond, Split.of(np.array(device)), "throughput")
    assert found.loads == pytest.approx(loads)
    assert found.objective == pytest.approx(max(loads))


def test_a_full_accelerator_is_named(diamond):
    assert score(diamond, Split.of(np.array([0, 1, 1, 1])), "throughput").oom == (1,)
    assert score(diamond, Split.of(np.array([0, 0, 0, 1])), "throughput").oom == ()
    # 1 and 8 bytes are one more than there is room for.
    assert score(diamond, Split.of(np.array([0, 1, 1, 0])), "throughput").oom == (0,)
    # A CPU has room for all.
    assert score(diamond, Split.of(np.array([CPU] * 4)), "throughput").oom == ()


@pytest.mark.parametrize(
    ("device", "milliseconds"),
    [
        ([CPU, CPU, CPU, CPU], 10 + 40 + 80),
        # One call: 7 of compute and both outputs, then 8 after receiving them.
        ([0, 0, 0, 1], (7 + 0.25 + 0.125) + (0.25 + 0.125 + 8)),
        # The CPU's 20 run beside node 2's call, which receives and sends.
        ([CPU, CPU, 0, CPU], 10 + max(20, 0.5 + 4 + 0.125) + 80),
    ],
)
def test_latency_is_that_of_blocking_calls(diamond, device, milliseconds):
    found = score(diamond, Split.of(np.array(device)), "latency")
    assert found.objective == pytest.approx(milliseconds)


def test_calls_that_wait_for_each_other_are_cut(diamond):
    there_and_back = Split.of(np.array([0, 1, 0, 0]))
    with pytest.raises(InputError, match="wait for each other"):
        score(diamond, there_and_back, "latency")
    cut = calls(diamond, there_and_back)
    # 0 and 2 (sends both), then 1, then 3 on the first accelerator again.
    first, second = 1 + 4 + 0.5 + 0.125, 0.5 + 2 + 0.25
    third = 0.25 + 0.125 + 8
    assert score(diamond, cut, "latency").objective == pytest.approx(first + second + third)


# Two forward nodes, then three backward ones: 1, 2, 4, 8, 16 on accelerators.
TRAINING = document(
    [node(i, 10.0 * 2**i, 2.0**i, isBackwardNode=i > 1) for i in range(5)],
    [*[edge(i, i + 1, 2.0 ** (i - 4)) for i in range(4)], edge(0, 3, 2.0**-4)],
)


@pytest.mark.parametrize(
    ("device", "stage", "milliseconds"),
    [
        # What the forward call made stays for the backward one.
        ([0] * 5, [0, 0, 1, 1, 1], 31),
        # Between two backward calls it moves out and in again.
        ([0] * 5, [0, 0, 1, 2, 2], (1 + 2) + (4 + 0.25) + (0.25 + 8 + 16)),
        # And between two forward calls.
        ([0] * 5, [0, 1, 2, 2, 2], (1 + 0.0625) + (0.0625 + 2) + (4 + 8 + 16)),
        # It stays for the accelerator that made it, and moves to the other.
        (
            [0, 0, 1, 0, 0],
            [0, 0, 1, 1, 1],
            (1 + 2 + 0.125) + (0.125 + 4 + 0.25) + (0.25 + 8 + 16),
        ),
    ],
)
def test_what_the_forward_pass_made_stays_for_the_backward_pass(
    tmp_path, device, stage, milliseconds
):
    split = Split(np.array(device), np.array(stage))
    found = score(load(tmp_path, TRAINING), split, "latency")
    assert found.objective == pytest.approx(milliseconds)


def test_an_accelerator_makes_one_call_after_the_other(tmp_path):
    workload = load(tmp_path, document([node(0, 9, 3), node(1, 9, 4), node(2, 9, 5)], []))
    for device, milliseconds in (([0, 0, 0], 3 + 4 + 5), ([0, 1, 0], 3 + 5), ([2, 1, 0], 9)):
        split = Split(np.array(device), np.arange(3))
        assert score(workload, split, "latency").objective == milliseconds


def test_calls_that_are_given_stay_and_one_a_pass_is_tried_before_more(tmp_path):
    workload = load(tmp_path, TRAINING)
    whole = calls(workload, Split.of(np.zeros(5)))
    assert whole.stage.tolist() == [0, 0, 1, 1, 1]
    given = Split(np.zeros(5, np.int64), np.array([0, 1, 2, 2, 3]))
    assert calls(workload, given).stage.tolist() == [0, 1, 2, 2, 3]


def test_calls_are_cut_by_the_devices_on_the_longest_way(tmp_path):
    """Not by CPUs, which have no calls and wait for none of each other's nodes."""
    ends = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    nodes = [node(i) for i in range(5)]
    workload = load(tmp_path, document(nodes, [edge(*pair) for pair in ends], cpus=2))
    split = calls(workload, Split.of(np.array([0, 2, 3, 0, 0])))
    assert split.stage.tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("device", "stage"), [([0, 1, 0, 0], [0, 1, 0, 2]), ([0, 0, 1, 0], [0, 0, 1, 2])]
)
def test_where_ways_meet_the_one_with_most_changes_counts(diamond, device, stage):
    assert calls(diamond, Split.of(np.array(device))).stage.tolist() == stage


def test_the_backward_pass_may_run_against_the_line(tmp_path):
    nodes = [node(0), node(1), *[node(i, isBackwardNode=True) for i in (2, 3)]]
    ends = [(0, 1), (1, 2), (2, 3)]
    workload = load(tmp_path, document(nodes, [edge(*pair) for pair in ends]))
    assert contiguous(workload, Split.of(np.array([0, 1, 1, 0])))
    assert contiguous(workload, Split.of(np.array([0, 1, 0, 1])))


def test_contiguous_means_a_line_of_devices(diamond):
    assert contiguous(diamond, Split.of(np.array([0, 0, 1, 1])))
    assert not contiguous(diamond, Split.of(np.array([0, 1, 0, 0])))


def test_torn_classes_and_unsupported_nodes_are_refused(tmp_path):
    nodes = [node(0, colorClass=1), node(1, colorClass=1), node(2, supportedOnFpga=False)]
    workload = load(tmp_path, document(nodes, []))
    with pytest.raises(InputError, match="colour class"):
        score(workload, Split.of(np.array([0, 1, 2])), "throughput")
    with pytest.raises(InputError, match="not supported"):
        score(workload, Split.of(np.array([0, 0, 0])), "throughput")
