"""Fidelity: the figures, and the placements that are drawn."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from command_line import SMOKE_GRAPH
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr
from six_ops import six_ops

from suite.core.problem import Problem
from suite.core.statistics import Pairs, agreement
from suite.execution.measurement import Trace
from suite.fidelity.breakdown import breakdown, covered, measured_of
from suite.fidelity.sample_placements import contiguous, draw, random
from suite.formats.interchange import read_graph
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.timeline import timeline

QUICK = {"best_of_random": {"k": 20}, "annealing": {"evaluations": 200}}
"""Planners that search for less than a second."""


def pairs(simulated, measured, noise=0.0):
    """Pairs whose measured intervals reach ``noise`` up and down."""
    simulated, measured = np.array(simulated, float), np.array(measured, float)
    return Pairs(simulated, measured, measured - noise, measured + noise)


def test_figures_of_a_hand_computed_case():
    found = agreement(pairs([1.0, 2.0, 4.0, 3.0], [1.0, 2.5, 4.0, 5.0]))
    assert found.placements == 4
    assert found.spearman == pytest.approx(0.8)
    assert found.kendall == pytest.approx(4 / 6)
    assert found.median_absolute_percentage_error == pytest.approx(10.0)


def test_pairs_within_the_noise_do_not_count():
    found = agreement(pairs([2.0, 1.0, 5.0], [1.0, 1.1, 5.0], noise=0.06))
    assert (found.pairs_apart, found.kendall) == (2, 1.0)


@given(
    st.lists(
        st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)),
        min_size=3,
        unique_by=(lambda t: t[0], lambda t: t[1]),
    )
)
def test_figures_agree_with_scipy(times):
    simulated, measured = zip(*times, strict=True)
    found = agreement(pairs([s for s, _ in times], measured))
    assert found.spearman == pytest.approx(spearmanr(simulated, measured).statistic)
    assert found.kendall == pytest.approx(kendalltau(simulated, measured).statistic)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_placements_have_no_rank(count):
    found = agreement(pairs([1.0] * count, [2.0] * count))
    assert math.isnan(found.spearman)
    assert math.isnan(found.kendall)
    json.dumps(found.as_json(), allow_nan=False)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10)), max_size=12))
def test_time_covered_by_intervals(spans):
    start = np.array([s for s, _ in spans], float)
    end = start + np.array([length for _, length in spans], float)
    moments = {t for s, length in spans for t in range(s, s + length)}
    assert covered(start, end) == len(moments)


def test_a_breakdown_sums_transfers_and_has_the_largest_differences_first():
    problem = six_ops()
    names, n = problem.graph.op_names, problem.graph.n_ops
    line = timeline(problem, np.array([1, 2, 1, 2, 1, 2], np.int32))
    # Every operation is simulated at 0.1 s.
    measured = np.array([0.1, 0.2, 0.13, 0.11, 0.05, 0.11])
    trace = Trace(names, ("",) * n, np.array([1, 2, 1, 2, 1, 2], np.int32), np.zeros(n), measured)
    found = breakdown(line, [trace])
    # Each chain crosses between the GPUs twice: 0.05 s and 1000 bytes at 1 GB/s.
    simulated = found["simulated"]
    assert simulated["transfers"] == 4
    assert simulated["transfer_seconds"] == pytest.approx(4 * 0.050001)
    assert simulated["busy"] == pytest.approx({"cpu:0": 0.0, "gpu:0": 0.3, "gpu:1": 0.3})
    off = {(kind, device): real - model for kind, device, _, model, real in found["operations"]}
    assert list(off.items()) == [
        (("Relu", "gpu:1"), pytest.approx(0.1)),
        (("Relu", "gpu:0"), pytest.approx(-0.05)),
        (("MatMul", "gpu:0"), pytest.approx(0.03)),
        (("MatMul", "gpu:1"), pytest.approx(0.02)),
    ]


def test_the_middle_one_of_several_traces_is_broken_down():
    problem = six_ops()
    names, n = problem.graph.op_names, problem.graph.n_ops
    one = np.ones(n, np.int32)
    traces = [
        Trace(names, ("",) * n, one, np.zeros(n), np.full(n, seconds)) for seconds in (5, 1, 9)
    ]
    found = breakdown(timeline(problem, one), traces)
    assert found["measured"]["busy"]["gpu:0"] == pytest.approx(1)


def test_what_a_trace_calls_a_transfer():
    """Between servers by the name, to and from a GPU by the label, but no operation's own copy."""
    events = [
        ("product", "product:MatMul(x)", 1, 0, 2),
        ("product:MatMul", "", 1, 1, 3),  # a kernel of it, which counts as no operation
        ("sum", "sum:Add(product)", 1, 1, 4),
        ("sum:Add", "MemcpyD2D 8 bytes", 1, 2, 9),
        ("RecvTensor", "[64 bytes] edge_7_product", 0, 0, 0.5),
        ("edge_8_sum", "MemcpyH2D 64 bytes", 1, 0, 0.25),
    ]
    names, labels, devices, start, end = zip(*events, strict=True)
    times = np.array(start, float), np.array(end, float)
    trace = Trace(names, labels, np.array(devices, np.int32), *times)
    assert measured_of(trace, ["product", "sum"], ["cpu:0", "gpu:0"]) == {
        "busy": {"cpu:0": 0.0, "gpu:0": 4.0},
        "transfers": 2,
        "transfer_seconds": 0.75,
    }


def two_cpus(second="8 GB"):
    """The smoke graph on two CPUs, a link from the first to the second that is slow."""
    device = {"kind": "cpu", "peak_flops": 5e10, "memory_bandwidth": 1e10, "launch_overhead": 5e-6}
    slow = {"bandwidth": 1e8, "latency": 1e-3, "channel": "pair"}
    links = [slow | {"from": "cpu", "to": "cpu:1"}, slow | {"bandwidth": 1e9}]
    memories = {"cpu:0": "8 GB", "cpu:1": second}
    devices = [device | {"name": name, "memory": size} for name, size in memories.items()]
    machine = machine_from_table({"name": "two", "device": devices, "link": links})
    return Problem.create(read_graph(SMOKE_GRAPH), machine)


def test_placements_of_every_kind_are_drawn_and_again_the_same():
    problem = two_cpus()
    first, second = (draw(problem, 40, 7, QUICK) for _ in range(2))
    hashes = [one.placement.hash for one in first]
    assert hashes == [one.placement.hash for one in second]
    assert len(set(hashes)) == len(first)
    kinds = {one.kind for one in first}
    assert kinds >= {"single", "partitioner", "best", "contiguous", "random"}
    labels = [(one.kind, one.number) for one in first]
    assert len(set(labels)) == len(labels)
    assert len({Simulator(problem).run(one.placement.devices).nanoseconds for one in first}) > 10


def drawn_at_random(problem, make, number, count=100):
    """So many placements of one kind, each a list of devices."""
    rng = np.random.default_rng(0)
    return [make(problem, rng, number).tolist() for _ in range(count)]


def runs(devices):
    """In how many pieces, in a row on one device, the operations are."""
    return 1 + np.count_nonzero(np.diff(devices))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_what_is_contiguous_has_two_to_four_runs_by_turns(number):
    runs = [
        1 + np.count_nonzero(np.diff(d)) for d in drawn_at_random(six_ops(), contiguous, number)
    ]
    assert max(runs) == (2, 3, 4, 2)[number]


def test_a_cut_falls_where_the_work_is():
    """Nine times in ten within the first operation, which has ten elevenths of the work."""
    problem = six_ops()
    first = Problem(problem.graph, problem.machine, problem.seconds * [[50], *[[1]] * 5])
    whole = [len(set(devices)) == 1 for devices in drawn_at_random(first, contiguous, 0)]
    assert 0.8 < np.mean(whole) < 1


def test_random_placements_go_from_few_moved_operations_to_all():
    """0.3 % of them are hardly ever one of six; six on three devices have 13 / 3 runs at random."""
    few, every = (
        np.array([runs(d) for d in drawn_at_random(six_ops(), random, n)]) for n in (0, 5)
    )
    assert np.mean(few <= 2) > 0.9
    assert np.mean(every) == pytest.approx(13 / 3, rel=0.1)


@pytest.mark.parametrize("make", [contiguous, random])
def test_what_has_no_gpu_kernel_is_drawn_where_it_can_run(make):
    problem = six_ops()
    graph = replace(problem.graph, gpu_kernel=np.arange(6) != 2)
    placements = drawn_at_random(Problem.create(graph, problem.machine), make, 5)
    assert {devices[2] for devices in placements} == {0}
    assert {devices[1] for devices in placements} == {0, 1, 2}


def test_what_does_not_fit_is_not_drawn():
    problem = two_cpus("8 MB")
    drawn, simulator = draw(problem, 20, 0, QUICK), Simulator(problem)
    assert [one.kind for one in drawn].count("single") == 1
    assert not any(simulator.run(one.placement.devices).oom.any() for one in drawn)
