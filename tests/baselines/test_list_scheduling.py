"""HEFT, ETF and m-SCT on cases worked out by hand, and the memory rule they share."""

import numpy as np
import pytest
from six_ops import six_ops

from baselines.etf import Etf
from baselines.heft import Heft
from baselines.list_scheduling.earliest import earliest_first
from baselines.list_scheduling.ranks import by_upward_rank
from baselines.list_scheduling.sct_lp import chains, favourites
from baselines.list_scheduling.units import units
from baselines.m_etf import MEtf
from baselines.m_sct import MSct
from suite.core.errors import Unsupported
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.search.placer import Search


def problem_of(seconds, edges, *, memory="1 GB", latency=1.0, gpus=2, sizes=0, also=(), **graph):
    """GPUs and free bandwidth: a transfer takes ``latency``; ``edges``: a tensor each.

    ``also``: pairs (tensor, another reader).
    """
    speeds = {"peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0, "memory": memory}
    devices = [{"name": f"gpu:{i}", "kind": "gpu", **speeds} for i in range(gpus)]
    link = {"bandwidth": 1e15, "latency": latency, "channel": "pair"}
    machine = machine_from_table({"name": "m", "device": devices, "link": [link]})
    built = OpGraph.create(
        "g",
        [f"op{i}" for i in range(len(seconds))],
        ["Op"] * len(seconds),
        [a for a, _ in edges],
        [*((t, b) for t, (_, b) in enumerate(edges)), *also],
        tensor_bytes=sizes,
        seconds={"gpu": seconds},
        **graph,
    )
    return Problem.create(built, machine)


def place(placer, problem):
    return np.asarray(placer.place(problem, Search(problem, None)).devices).tolist()


@pytest.mark.parametrize("placer", [Heft(), Etf(), MEtf(), MSct()])
def test_two_chains_get_a_gpu_each(placer):
    devices = place(placer, six_ops())
    assert devices[:3] == [devices[0]] * 3
    assert devices[3:] == [devices[3]] * 3
    assert {devices[0], devices[3]} == {1, 2}


def test_upward_ranks_count_transfers():
    # Ranks: op3 1; op1 2 + 1 + 1 = 4; op2 5 + 1 + 1 = 7; op0 1 + 1 + 7 = 9.
    problem = problem_of([1.0, 2.0, 5.0, 1.0], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert by_upward_rank(problem).tolist() == [0, 2, 1, 3]


def test_heft_takes_the_longest_path_first_and_ends_earliest():
    # op2 (rank 7) follows op0 on gpu:0 and ends at 6; op1 ends at 8 there, at 1 + 1 + 2 = 4 on
    # gpu:1; op3 ends at 7 on gpu:0 (op1's tensor is there at 5), at 8 on gpu:1.
    problem = problem_of([1.0, 2.0, 5.0, 1.0], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert place(Heft(), problem) == [0, 1, 0, 0]


def test_heft_fills_gaps():
    # Ranks: op0 and op1 17 each, op2 12, op3 0.5. op0 runs on gpu:0, op1 on gpu:1, 0..2; op2 needs
    # both, starts at 5 on gpu:0 and leaves a gap 2..5 there and nothing after 2 on gpu:1. op3 and
    # op4 (3 s each) go into the first gaps: gpu:0 at 2, then gpu:1 at 2.
    problem = problem_of([2.0, 2.0, 12.0, 3.0, 3.0], [(0, 2), (1, 2)], latency=3.0)
    assert place(Heft(), problem) == [0, 1, 0, 0, 1]


def test_etf_breaks_ties_by_the_longest_path():
    # All three can start at 0. op2 has 9 s after it, op1 4 s, op0 nothing: op2 then op1 are first.
    problem = problem_of([3.0, 3.0, 3.0, 1.0, 6.0], [(1, 3), (2, 4)], latency=0.5)
    devices = place(Etf(), problem)
    assert devices[2] == 0
    assert devices[1] == 1


def test_a_queue_of_transfers_keeps_readers_at_home():
    # op0 makes three tensors at 1 for op1..op3 (2 s each), a transfer takes 1.5 s. op1 starts at 1
    # on gpu:0; op2 at 2.5 on gpu:1. op3 would start there at 4.5; on gpu:0 it starts at 3.
    problem = problem_of([1.0, 2.0, 2.0, 2.0], [(0, 1), (0, 2), (0, 3)], latency=1.5)
    assert place(MEtf(), problem) == [0, 0, 1, 0]


def test_queued_transfers_delay_each_other():
    # op0 (gpu:0) and op1 (gpu:1) end at 1 and 1.5; op2 reads four tensors of op0 and one of op1.
    # Without a queue it starts on gpu:1 as early as 1 + 1 = 2, on gpu:0 at 2.5. Four transfers in
    # a row make that 5 on gpu:1.
    problem = problem_of([1.0, 1.5, 1.0], [(0, 2)] * 4 + [(1, 2)])
    assert place(Etf(), problem)[2] == place(Etf(), problem)[1]
    assert place(MEtf(), problem) == [0, 1, 0]


def test_memory_comes_back_when_the_last_reader_is_placed():
    # A chain of six tensors of 1,000 bytes: two live at a time, so 2,500 bytes are enough for one
    # GPU; were nothing freed, it would not end there.
    edges = [(i, i + 1) for i in range(5)]
    problem = problem_of([1.0] * 6, edges, memory="2.5 kB", sizes=1000, gpus=1)
    for placer in (Heft(), Etf(), MEtf(), MSct()):
        assert place(placer, problem) == [0] * 6
    small = problem_of([1.0] * 6, edges, memory="1.5 kB", sizes=1000, gpus=1)
    for placer in (Heft(), Etf(), MEtf(), MSct()):
        with pytest.raises(Unsupported, match="no GPU has room for 'op1'"):
            place(placer, small)


def test_a_copy_that_came_with_less_than_was_freed_makes_room():
    # gpu:1 holds 500 B for op5 and 500 B for op6; op4 would bring op3's 1000 B and make as many:
    # 3000 of 2500 B. op5 brings them and frees its 500 B. On gpu:0 is never room for op4.
    edges = [(0, 5), (1, 6), (2, 6), (3, 4), (4, 6)]
    sizes = [500, 500, 1000, 1000, 1000]
    problem = problem_of([1.0] * 7, edges, memory="2.5 kB", sizes=sizes, also=[(3, 5)])
    homes = np.array([1, 1, 0, 0, -1, 1, 1])
    found = earliest_first(problem, (np.arange(7), homes))
    assert np.asarray(found.devices).tolist() == [1, 1, 0, 0, 1, 1, 1]


def test_what_had_no_room_follows_its_class():
    # op0 makes 3 kB and has no room anywhere; once op1 has decided for their class it has a device.
    edges = [(0, 2), (1, 2)]
    one = {"gpus": 1, "colocation": [0, 0, 0]}
    problem = problem_of([1.0] * 3, edges, memory="2.5 kB", sizes=[3000, 1000], **one)
    found = earliest_first(problem, units(problem, coplaced=False))
    assert np.asarray(found.devices).tolist() == [0, 0, 0]


def test_a_shared_buffer_is_counted_once():
    # op1 hands on op0's buffer; with 1,500 bytes both fit, and op2 reads it.
    edges = [(0, 1), (1, 2)]
    problem = problem_of([1.0] * 3, edges, memory="1.5 kB", sizes=1000, alias_of=[-1, 0], gpus=1)
    assert place(MEtf(), problem) == [0, 0, 0]


def test_chains_and_sources_are_merged():
    # 0 -> 1 -> 2 is a chain and 3 a source read once; 4 and 5 could run at the same time.
    sources, targets = np.array([0, 1, 3, 2, 2, 4, 5]), np.array([1, 2, 4, 4, 5, 6, 6])
    assert chains(7, sources, targets).tolist() == [0, 0, 0, 1, 1, 2, 3]


def test_the_favourite_child_is_on_the_longest_path():
    # op0 feeds op1 (1 s) and op2 (9 s), both read by op3 and op4: only if op2 follows op0 at once
    # and op3 and op4 come after a transfer, or one of them not, is 1 + 9 + 3 + 1 reached.
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (2, 4)]
    problem = problem_of([1.0, 1.0, 9.0, 1.0, 1.0], edges, latency=3.0)
    assert favourites(problem)[0] == 2


def test_nothing_has_a_favourite_on_one_gpu():
    problem = problem_of([1.0, 1.0, 9.0], [(0, 1), (0, 2)], gpus=1)
    assert (favourites(problem) < 0).all()


def scheduled(problem, favourite=None):
    wanted = units(problem, coplaced=False)
    favourite = None if favourite is None else np.array(favourite)
    return np.asarray(earliest_first(problem, wanted, favourite=favourite).devices).tolist()


def test_a_device_waits_for_the_favourite_child():
    # op0 ends on gpu:0 at 1, op1 on gpu:1 at 0.5; op2 (1 s) reads both and could start at 1.5 on
    # gpu:0; op3 (5 s) reads op0 and starts there at 1, so op2 goes to gpu:1 at 2. As op0's
    # favourite op2 keeps op3 away until 2, and comes first.
    problem = problem_of([1.0, 0.5, 1.0, 5.0], [(0, 2), (1, 2), (0, 3)])
    assert scheduled(problem) == [0, 1, 1, 0]
    assert scheduled(problem, [2, -1, -1, -1]) == [0, 1, 0, 1]


def test_an_urgent_task_does_not_wait():
    # The same, but op1 ends at 9: op3, which could run anywhere at 2, takes gpu:0 then.
    problem = problem_of([1.0, 9.0, 1.0, 5.0], [(0, 2), (1, 2), (0, 3)])
    assert scheduled(problem, [2, -1, -1, -1]) == [0, 1, 1, 0]


def test_what_a_single_operation_reads_is_placed_with_it():
    # op0 and op1 are read by op2 alone, op3 by op4 alone.
    problem = problem_of([1.0] * 5, [(0, 2), (1, 2), (3, 4)], sizes=8)
    assert units(problem, coplaced=True)[0].tolist() == [0, 0, 0, 1, 1]
