"""One operation at a time: release and delivery times by hand, never more than what happens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import placed

from suite.bounds.alike import NEVER
from suite.bounds.critical_path import _delivery_times, _release_times, release_and_delivery
from suite.bounds.lower_bound import lower_bound
from suite.bounds.serialisation import serial_release_and_delivery
from suite.bounds.serialisation_kernel import SPAN, _raise_all
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.durations import nanoseconds
from suite.simulator.timeline import timeline

DEVICE = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
SLOW = 10**6
"""Nanoseconds on the CPU where it is of no use."""


def make(ops, edges, latency, gpus=2, labels=None):
    """Ops with (cpu, gpu) nanoseconds, 0: not; one tensor per edge; every link is alike."""
    devices = [{"name": "cpu:0", "kind": "cpu", **DEVICE}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **DEVICE} for i in range(gpus)]
    links = [{"bandwidth": 1e9, "latency": latency * 1e-9}]
    machine = machine_from_table({"name": "m", "device": devices, "link": links})
    graph = OpGraph.create(
        "g",
        [f"op{i}" for i in range(len(ops))],
        ["Op"] * len(ops),
        [a for a, _ in edges],
        [(t, b) for t, (_, b) in enumerate(edges)],
        colocation=labels,
    )
    times = np.array(ops, float)[:, [0] + [1] * gpus]
    return Problem(graph, machine, np.where(times > 0, times * 1e-9, np.inf))


def both(problem):
    allowed = problem.allowed[problem.graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds), 0)
    return serial_release_and_delivery(problem, durations), release_and_delivery(problem, durations)


def fork_join(branches, latency, **machine):
    """A first operation of 10 ns, branches of one operation each, a last one of 10 ns."""
    last = len(branches) + 1
    ops = [(SLOW, 10), *((SLOW, b) for b in branches), (SLOW, 10)]
    edges = [(0, i) for i in range(1, last)] + [(i, last) for i in range(1, last)]
    return make(ops, edges, latency, **machine)


@pytest.mark.parametrize(
    ("latency", "least"),
    [
        (5, 10 + 40),  # The shorter branch goes away and is back in time, at 10 + 5 + 30 + 5.
        (15, 10 + 40 + 15),  # It goes away and the other follows.
        (31, 10 + 40 + 30),  # Both stay, one after the other.
        (500, 10 + 40 + 30),
    ],
)
def test_a_join_waits_for_both_branches_or_for_a_transfer(latency, least):
    problem = fork_join([40, 30], latency)
    (release, delivery), (plain, _) = both(problem)
    assert plain[3].min() == 10 + 40
    assert release[3].min() == least
    assert delivery[0].min() == least
    every = np.array(np.meshgrid(*[range(3)] * 4), np.int32).reshape(4, -1).T
    optimum = Simulator(problem).batch(every).step_time.min()
    assert lower_bound(problem).parts["serial"] == optimum == pytest.approx((least + 10) * 1e-9)


def test_a_bound_compiles_each_kernel_once():
    """Both ways, and whatever the order of the rows in memory."""
    problem = fork_join([40, 30], 5)
    lower_bound(problem)
    allowed = problem.allowed[problem.graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds), 0)
    for one in (np.asfortranarray(durations), np.ascontiguousarray(durations)):
        serial_release_and_delivery(problem, one)
    for kernel in (_raise_all, _release_times, _delivery_times):
        assert len(kernel.signatures) == 1


def test_the_bound_names_it():
    bound = lower_bound(fork_join([40, 30, 20], 500))
    assert (bound.kind, bound.seconds) == ("serial", pytest.approx(110e-9))


def test_without_transfers_nothing_is_gained():
    (release, delivery), plain = both(fork_join([40, 30], 0))
    assert np.array_equal(release, plain[0])
    # A transfer takes a nanosecond at least, and from op 0 on the CPU there are two.
    assert (delivery - plain[1]).max() <= 2


def test_forks_in_a_row_add_up():
    """Ten forks, each worth its shorter branch."""
    ops, edges = [(SLOW, 10)], []
    for _ in range(10):
        end = len(ops)
        ops += [(SLOW, 40), (SLOW, 30), (SLOW, 10)]
        edges += [(end - 1, end), (end - 1, end + 1), (end, end + 2), (end + 1, end + 2)]
    bound = lower_bound(make(ops, edges, 100))
    assert bound.parts["critical_path"] == pytest.approx((10 + 10 * 50) * 1e-9)
    assert bound.seconds == pytest.approx((10 + 10 * 80) * 1e-9)


def test_a_chain_apart_is_seen_as_a_whole():
    """The shorter branch has three operations: its way out and back counts once."""
    ops = [(SLOW, t) for t in (10, 90, 20, 20, 20, 10)]
    edges = [(0, 1), (1, 5), (0, 2), (2, 3), (3, 4), (4, 5)]
    assert both(make(ops, edges, 100))[0][0][5].min() == 10 + 90 + 60
    assert both(make(ops, edges, 25))[0][0][5].min() == 10 + 25 + 60 + 25


def test_a_single_gpu_may_be_helped_by_the_cpu():
    problem = make(
        [(SLOW, 10), (50, 40), (45, 30), (SLOW, 10)], [(0, 1), (0, 2), (1, 3), (2, 3)], 8, gpus=1
    )
    assert both(problem)[0][0][3].tolist() == [10 + 40 + 8, 10 + 8 + 45 + 8]


def test_members_of_a_class_are_beside_one_another():
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    ops = [(SLOW, 10), (SLOW, 40), (SLOW, 30), (SLOW, 10)]
    problem = make(ops, edges, 0, labels=["v", None, "v", "v"])
    assert both(problem)[0][0][3].min() == 10 + 40 + 2
    problem = make(ops, edges, 0, labels=["v"] * 4)
    assert both(problem)[0][0][3].min() == 10 + 40 + 30


def test_an_operation_without_a_kernel_is_apart():
    problem = make([(20, 10), (30, 0), (SLOW, 10)], [(0, 1), (1, 2)], 7, gpus=1)
    (release, _), _ = both(problem)
    assert release[1].tolist() == [10 + 7, NEVER]
    assert release[2].tolist() == [10 + 7 + 30, 10 + 7 + 30 + 7]


def test_only_ancestors_nearby_are_looked_at():
    """Unrelated operations between the branches and their join push them out of sight."""
    many = SPAN + 5
    ops = [(SLOW, 10), (SLOW, 40), (SLOW, 30), *[(SLOW, 1)] * many, (SLOW, 10)]
    edges = [(0, 1), (0, 2), (1, many + 3), (2, many + 3)]
    assert both(make(ops, edges, 500))[0][0][-1].min() == 50


@settings(max_examples=300, deadline=None)
@given(
    placed(max_ops=30, min_gpus=0, max_gpus=3, in_turn=True), st.sampled_from(["fifo", "priority"])
)
def test_no_operation_starts_before_its_head_or_ends_after_its_tail(case, policy):
    problem, devices = case
    (release, delivery), (plain_release, plain_delivery) = both(problem)
    line = timeline(problem, devices, policy)
    ops = np.arange(problem.graph.n_ops)
    assert np.all(line.start >= release[ops, devices])
    assert np.all(line.result.nanoseconds - line.end >= delivery[ops, devices])
    assert np.all(release >= plain_release)
    assert np.all(delivery >= plain_delivery)
