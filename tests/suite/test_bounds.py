"""No valid placement beats the bound, and on graphs whose optimum is known it is reached."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_placement, problems

from suite.bounds import window
from suite.bounds.alike import NEVER
from suite.bounds.critical_path import release_and_delivery
from suite.bounds.load_balance import Load
from suite.bounds.lower_bound import lower_bound
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.durations import nanoseconds
from suite.simulator.reference import simulate


@settings(max_examples=150)
@given(problems(max_ops=7, max_gpus=2), st.sampled_from(["fifo", "priority"]))
def test_no_placement_is_faster(problem, policy):
    bound = lower_bound(problem)
    results = [simulate(problem, d, policy) for d in every_placement(problem)]
    assert bound.seconds <= min(r.step_time for r in results)
    fitting = [r.step_time for r in results if not r.oom.any()]
    assert bound.parts["load_memory"] <= min(fitting, default=math.inf)


@settings(max_examples=40)
@given(problems(max_ops=25, min_gpus=2))
def test_no_sampled_placement_of_a_larger_graph_is_faster(problem):
    bound = lower_bound(problem)
    assert all(
        bound.seconds <= simulate(problem, d).step_time for d in every_placement(problem, 40)
    )


def make(seconds, edges=(), gpus=2, memory="1 GB", link=(1e9, 1e-3), **graph):
    """Ops with (cpu, gpu) seconds, one tensor per edge (from, to, bytes)."""
    times = np.array(seconds, float)
    device = {"memory": memory, "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **device, "memory": "1 TB"}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **device} for i in range(gpus)]
    links = [{"bandwidth": link[0], "latency": link[1]}]
    machine = machine_from_table({"name": "m", "device": devices, "link": links})
    names = [f"op{i}" for i in range(len(times))]
    built = OpGraph.create(
        "g",
        names,
        ["Op"] * len(names),
        [a for a, _, _ in edges],
        [(t, b) for t, (_, b, _) in enumerate(edges)],
        tensor_bytes=[size for _, _, size in edges],
        seconds={"cpu": times[:, 0], "gpu": times[:, 1]},
        **graph,
    )
    return Problem.create(built, machine)


def test_a_chain_is_bound_by_its_path():
    bound = lower_bound(make([(9, 1), (9, 2), (9, 3)], [(0, 1, 0), (1, 2, 0)]))
    assert (bound.kind, bound.seconds) == ("critical_path", 6.0)


def test_a_transfer_that_cannot_be_avoided_counts():
    problem = make([(9, 1), (1, 1), (9, 1)], [(0, 1, 10**9), (1, 2, 0)], gpu_kernel=[1, 0, 1])
    assert lower_bound(problem).seconds == pytest.approx(1 + 1.001 + 1 + 0.001 + 1)


def reached(problem):
    """Release and delivery times in seconds, [CPU, GPU] of each operation; None: never."""
    allowed = problem.allowed[problem.graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds), 0)
    return [
        [[None if ns == NEVER else ns / 1e9 for ns in row] for row in times.tolist()]
        for times in release_and_delivery(problem, durations)
    ]


def test_what_comes_before_and_after_on_each_device_counts_its_transfers():
    problem = make(
        [(9, 1), (1, 1), (9, 1)], [(0, 1, 10**9), (1, 2, 0)], gpus=1, gpu_kernel=[1, 0, 1]
    )
    assert reached(problem) == [
        [[0.0, 0.0], [1 + 1.001, None], [2.001 + 1, 2.001 + 1 + 0.001]],
        [[1 + 0.001 + 1, 1.001 + 1 + 0.001 + 1], [0.001 + 1, None], [0.0, 0.0]],
    ]


def test_members_of_a_class_do_not_part_for_speed():
    problem = make([(1, 9), (9, 1)], [(0, 1, 0)], gpus=1, link=(1e9, 0), colocation=["v", "v"])
    assert lower_bound(problem).parts["critical_path"] == 10.0
    assert reached(problem) == [[[0.0, 0.0], [1.0, 9.0]], [[9.0, 1.0], [0.0, 0.0]]]


def test_independent_work_is_shared_by_all_devices():
    bound = lower_bound(make([(20, 2)] * 21))
    assert (bound.kind, bound.seconds) == ("load", pytest.approx(20.0))


def test_one_large_class_is_not_shared():
    bound = lower_bound(make([(90, 2)] * 4, colocation=["v"] * 4))
    assert (bound.kind, bound.seconds) == ("class", 8.0)


def test_a_class_waits_for_what_is_before_it_and_is_followed_by_what_is_behind():
    ops = [(99, 5), *[(90, 2)] * 4, (99, 7)]
    edges = [(0, i, 0) for i in range(1, 5)] + [(i, 5, 0) for i in range(1, 5)]
    problem = make(ops, edges, link=(1e9, 0), colocation=[None, *["v"] * 4, None])
    assert lower_bound(problem).parts["class"] == pytest.approx(5 + 4 * 2 + 7, rel=1e-8)


@pytest.mark.parametrize(
    ("times", "edge", "labels"),
    [((1, 1, 7), (1, 2, 0), ["v", "v", None]), ((1, 7, 1), (1, 2, 0), ["v", None, "v"])],
)
def test_a_class_may_begin_and_end_with_the_member_that_nothing_ties(times, edge, labels):
    """Of two members of 1 s one is before, or after, 7 s; the other runs beside that, or first."""
    problem = make([(99, gpu) for gpu in times], [edge], link=(1e9, 0), colocation=labels)
    steps = [simulate(problem, devices, "priority") for devices in every_placement(problem)]
    best = min(step.step_time for step in steps)
    assert lower_bound(problem).parts["class"] == pytest.approx(1 + 7) == best


def test_a_part_of_a_nanosecond_counts_as_a_whole_one():
    """Three of 1 ns on two GPUs, and hardly any of it on the CPU: 1.5 ns."""
    assert lower_bound(make([(99e-9, 1e-9)] * 3)).parts["load"] == 2e-9


def test_work_between_a_head_and_a_tail_takes_all_three():
    ops = [(99, 5)] + [(99, 1)] * 8 + [(99, 5)]
    edges = [(0, i, 0) for i in range(1, 9)] + [(i, 9, 0) for i in range(1, 9)]
    bound = lower_bound(make(ops, edges, link=(1e9, 0)))
    share = 8 / (2 + 1 / 99)
    assert (bound.kind, bound.seconds) == ("window", pytest.approx(5 + share + 5, rel=1e-6))


def test_an_operation_between_two_thresholds_counts_from_the_lower_one(monkeypatch):
    """With two of each, the middle operations meet the least release time, and not the latest.

    No window is better then than the one that holds the whole step.
    """
    monkeypatch.setattr(window, "THRESHOLDS", 2)
    ops = [(99, 5)] + [(99, 1)] * 8 + [(99, 5)]
    edges = [(0, i, 0) for i in range(1, 9)] + [(i, 9, 0) for i in range(1, 9)]
    parts = lower_bound(make(ops, edges, link=(1e9, 0))).parts
    assert parts["window"] == pytest.approx(parts["load"]) == pytest.approx(18 / (2 + 5 / 99))


def test_two_separate_chains_have_no_false_window():
    """Release times of one chain with delivery times of the other would be met by no operation."""
    bound = lower_bound(make([(9, 1)] * 6, [(0, 1, 0), (1, 2, 0), (3, 4, 0), (4, 5, 0)]))
    assert bound.seconds == 3.0


def test_memory_moves_only_its_own_part():
    problem = make([(10, 1)] * 4, gpus=1, memory="2 GB", persistent_bytes=10**9)
    bound = lower_bound(problem)
    assert bound.seconds == pytest.approx(40 / 11)
    assert bound.parts["load_memory"] == pytest.approx(20.0)


def test_memory_is_that_of_all_devices_alike():
    """Of six operations four fit on two GPUs, and two take 10 s each on the CPU."""
    problem = make([(10, 1)] * 6, gpus=2, memory="2 GB", persistent_bytes=10**9)
    assert lower_bound(problem).parts["load_memory"] == pytest.approx(20.0)
    ample = make([(10, 1)] * 6, gpus=2, memory="9 GB", persistent_bytes=10**9)
    parts = lower_bound(ample).parts
    assert parts["load_memory"] == pytest.approx(parts["load"]) == pytest.approx(6 / (2 + 1 / 10))


def with_lanes(problem, lanes):
    """The problem with GPUs that run so many operations at once."""
    cpu, *gpus = problem.machine.devices
    devices = (cpu, *(replace(gpu, parallelism=lanes) for gpu in gpus))
    return Problem.create(problem.graph, replace(problem.machine, devices=devices))


def test_lanes_share_the_memory_of_their_device():
    problem = make([(10, 1)] * 4, gpus=1, memory="2 GB", persistent_bytes=10**9)
    assert lower_bound(with_lanes(problem, 2)).parts["load_memory"] == pytest.approx(20.0)
    # All three bytes fit on the GPU, where they take a second; half of them are no whole number.
    problem = make([(9, 1)], gpus=1, memory=3, persistent_bytes=3)
    assert lower_bound(with_lanes(problem, 2)).parts["load_memory"] <= 1.0


def test_a_class_is_shared_by_the_lanes_of_one_device():
    problem = make([(90, 2)] * 4, colocation=["v"] * 4)
    assert lower_bound(with_lanes(problem, 2)).parts["class"] == 4.0


def test_devices_of_unequal_memory_are_told_apart():
    problem = make([(10, 1)] * 4, gpus=2, memory="9 GB", persistent_bytes=10**9)
    small = replace(problem.machine.devices[1], memory=10**9)
    devices = (problem.machine.devices[0], small, problem.machine.devices[2])
    problem = Problem.create(problem.graph, replace(problem.machine, devices=devices))
    share = 3 / (1 + 1 / 10)
    assert lower_bound(problem).parts["load_memory"] == pytest.approx(share)


def test_variables_that_fill_the_memories_to_the_last_byte_fit():
    problem = make([(10, 1)] * 4, gpus=1, memory="2 GB", persistent_bytes=10**9)
    cpu, gpu = problem.machine.devices
    full = replace(problem.machine, devices=(replace(cpu, memory=gpu.memory), gpu))
    parts = lower_bound(Problem.create(problem.graph, full)).parts
    assert parts["load_memory"] == pytest.approx(20.0)


def test_variables_that_fit_nowhere_give_an_infinite_memory_part():
    problem = make([(1, 1)], gpus=1, persistent_bytes=10**13)
    assert lower_bound(problem).parts["load_memory"] == math.inf


def test_an_empty_graph_takes_no_time():
    assert lower_bound(make(np.zeros((0, 2)))).seconds == 0


def test_the_same_problem_gives_the_same_bound():
    rng = np.random.default_rng(0)
    problem = make(rng.uniform(1, 9, (60, 2)), [(i, i + 1, 10) for i in range(0, 59, 2)])
    assert lower_bound(problem) == lower_bound(problem)


def fractional_knapsack(work, sizes):
    """The least T for two groups, exactly: the classes that lose least go to group 0 first."""
    order = np.argsort(-(work[:, 1] / work[:, 0]))
    first, second = work[order, 0], work[order, 1]
    left, right = 0.0, second.sum()
    for a, b in zip(first, second, strict=True):
        if (left + a) / sizes[0] >= (right - b) / sizes[1]:
            share = (right / sizes[1] - left / sizes[0]) / (a / sizes[0] + b / sizes[1])
            return (left + share * a) / sizes[0]
        left, right = left + a, right - b
    return left / sizes[0]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200), st.integers(1, 8))
def test_the_load_bound_is_the_optimum_of_its_program(seed, classes, gpus):
    work = np.random.default_rng(seed).integers(1, 10**6, (classes, 2)).astype(float)
    sizes = np.array([1, gpus])
    persistent = np.zeros(classes, np.int64)
    load = Load(work, persistent, np.array([0, 1]), sizes, np.array([1, 1]))
    assert load.least()[0] == pytest.approx(fractional_knapsack(work, sizes), rel=1e-6, abs=1)
