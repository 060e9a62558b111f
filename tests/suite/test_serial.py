"""One operation at a time: release and delivery times by hand, never more than what happens."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_placement, placed, problems

from suite.bounds import serialisation_kernel
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


def make(ops, edges, latency, gpus=2, labels=None, back=None, **link):
    """Ops with (cpu, gpu) nanoseconds, 0: not; one tensor per edge.

    Every link is alike, but those from a GPU to the CPU where ``back`` is their latency.
    """
    devices = [{"name": "cpu:0", "kind": "cpu", **DEVICE}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **DEVICE} for i in range(gpus)]
    links = [{"bandwidth": 1e9, "latency": latency * 1e-9, **link}]
    if back is not None:
        links.append({**links[0], "latency": back * 1e-9, "from": "gpu", "to": "cpu"})
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


def test_what_is_proven_of_an_ancestor_far_away_counts():
    """Where it is read on a device of its own kind, and on another."""
    ops = [(SLOW, 10), (SLOW, 40), (SLOW, 30), (SLOW, 10), *[(SLOW, 1)] * SPAN]
    ops += [(SLOW, 10), (20, 0)]
    join, last = 3, len(ops) - 1
    edges = [(0, 1), (0, 2), (1, join), (2, join), (join, last - 1), (join, last)]
    (release, _), _ = both(make(ops, edges, 500))
    assert release[join].min() == 10 + 40 + 30
    assert release[last - 1].min() == 10 + 40 + 30 + 10
    assert release[last][0] == 10 + 40 + 30 + 10 + 500


@settings(max_examples=300)
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


def least_transfers(problem, tensor, kinds, each):
    """Least nanoseconds of a tensor to any device of a kind, and from one."""
    arrive, leave = [math.inf] * len(kinds), [math.inf] * len(kinds)
    for (source, target), link in problem.machine.link_of.items():
        size = problem.graph.tensor_bytes[tensor]
        time = int(nanoseconds(np.array([link.latency + size / link.bandwidth]))[0])
        arrive[each[target]] = min(arrive[each[target]], time)
        leave[each[source]] = min(leave[each[source]], time)
    return arrive, leave


class SlowRefutation:
    """Release times by the definition, of a graph of few operations: each a list by kind."""

    def __init__(self, inputs, here, kinds, release):
        self.inputs, self.here, self.release = inputs, here, release
        count = range(len(kinds))
        self.others = [[j for j in count if j != k or len(kinds[k]) > 1] for k in count]
        self.ends = []
        for op in range(len(here)):
            for kind in count:
                if here[op][kind] < math.inf:
                    release[op][kind] = self.latest(op, kind)
            ends = [release[op][k] + here[op][k] for k in count]
            self.ends.append(
                [min((ends[j] for j in self.others[k]), default=math.inf) for k in count]
            )

    def elsewhere(self, op, kind):
        return min((self.here[op][j] for j in self.others[kind]), default=math.inf)

    def latest(self, op, kind):
        """The last time before which it is refuted that ``op`` starts."""
        low = self.release[op][kind]
        for source, together, arrive, _ in self.inputs[op]:
            apart = math.inf if together else self.ends[source][kind] + arrive[kind]
            low = max(low, min(self.release[source][kind] + self.here[source][kind], apart))
        lags, step = self.lags(op, kind), 1
        while self.refuted(op, kind, low + step, lags):
            low, step = low + step, 2 * step
        while step := step // 2:
            low += step if self.refuted(op, kind, low + step, lags) else 0
        return low

    def lags(self, op, kind):
        """Ancestor -> least time from its end to the start of ``op``, beside it and apart."""
        found = {op: (0, math.inf)}
        for reader in range(op, -1, -1):
            if reader not in found:
                continue
            near, far = found[reader]
            if reader != op:
                near, far = near + self.here[reader][kind], far + self.elsewhere(reader, kind)
            for source, together, arrive, leave in self.inputs[reader]:
                beside = near if together else min(near, leave[kind] + far)
                apart = far if together else min(far, arrive[kind] + near)
                known = found.get(source, (0, 0))
                found[source] = max(known[0], beside), max(known[1], apart)
        del found[op]
        return found

    def refuted(self, op, kind, limit, lags):
        near = {a: self.release[a][kind] for a in lags}
        far = {a: self.ends[a][kind] for a in lags}
        for _ in range(2 * len(lags) + 1):
            for a in sorted(lags):
                begin, came = near[a], 0
                for source, together, arrive, leave in self.inputs[a]:
                    beside, apart = near[source] + self.here[source][kind], far[source]
                    to, back = (math.inf, math.inf) if together else (arrive[kind], leave[kind])
                    begin = max(begin, min(beside, apart + to))
                    came = max(came, min(apart, beside + back))
                end = max(far[a], came + self.elsewhere(a, kind))
                late = begin + self.here[a][kind] + lags[a][0] >= limit
                near[a] = math.inf if late else begin
                far[a] = math.inf if end + lags[a][1] >= limit else end
                if near[a] == far[a] == math.inf:
                    return True
        beside = [a for a in lags if far[a] == math.inf]
        # The first of any of them that start at some time or later, then all their work.
        work = [
            near[a] + sum(self.here[b][kind] for b in beside if near[b] >= near[a]) for a in beside
        ]
        return max(work, default=0) >= limit


def slow_release_and_delivery(problem):
    """Both ways by the definition, int64[ops, devices] as lists."""
    graph, n = problem.graph, problem.graph.n_ops
    allowed = problem.allowed[graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds), 0)
    columns = [tuple(column) for column in durations.T.tolist()]
    unlike = list(dict.fromkeys(columns))
    each = [unlike.index(column) for column in columns]
    kinds = [[d for d, k in enumerate(each) if k == kind] for kind in range(len(unlike))]
    here = [[column[op] or math.inf for column in unlike] for op in range(n)]
    plain = [end.tolist() for end in release_and_delivery(problem, durations)]
    found = []
    for turned, ends in enumerate(plain):
        inputs = [[] for _ in range(n)]
        for tensor, reader in zip(*graph.edges, strict=True):
            ways = least_transfers(problem, tensor, kinds, each)
            maker = graph.producer[tensor]
            together = graph.colocation[maker] == graph.colocation[reader]
            if turned:
                inputs[n - 1 - maker].append((int(n - 1 - reader), together, *ways[::-1]))
            else:
                inputs[reader].append((int(maker), together, *ways))
        step = -1 if turned else 1
        least = [[min(row[d] for d in kind) for kind in kinds] for row in ends[::step]]
        least = [[math.inf if t == NEVER else t for t in row] for row in least]
        raised = SlowRefutation(inputs, here[::step], kinds, least).release[::step]
        found.append(
            [
                [max(time, raised[op][each[d]]) for d, time in enumerate(row)]
                for op, row in enumerate(ends)
            ]
        )
    return found


@st.composite
def steps(draw, most=7):
    """Operations of which many may be transferred or not, and some have one kernel only."""
    times = st.sampled_from([0, 5, 20, 45, 90])
    ops = draw(st.lists(st.tuples(times, times).filter(any), min_size=2, max_size=most))
    edges = [
        (draw(st.integers(max(0, op - 4), op - 1)), op)
        for op in range(1, len(ops))
        for _ in range(draw(st.integers(1, 2)))
    ]
    labels = [draw(st.sampled_from([None, None, "v"])) if all(op) else None for op in ops]
    to, back = (draw(st.sampled_from([0, 7, 30, 100])) for _ in range(2))
    return make(ops, sorted(set(edges)), to, draw(st.integers(1, 2)), labels, back)


@settings(max_examples=120)
@given(problems(max_ops=7, min_gpus=1, max_gpus=2, in_turn=True) | steps())
def test_small_graphs_are_what_the_definition_says(problem):
    (release, delivery), _ = both(problem)
    slow = slow_release_and_delivery(problem)
    allowed = problem.allowed[problem.graph.colocation]
    for fast, ends in zip((release, delivery), slow, strict=True):
        assert fast[allowed].tolist() == np.array(ends)[allowed].tolist()


@settings(max_examples=60)
@given(steps(most=6))
def test_no_placement_starts_an_operation_sooner(problem):
    """Nor does one end the step sooner after it."""
    (release, delivery), _ = both(problem)
    ops = np.arange(problem.graph.n_ops)
    for devices in every_placement(problem, 60):
        line = timeline(problem, devices)
        assert np.all(line.start >= release[ops, devices])
        assert np.all(line.result.nanoseconds - line.end >= delivery[ops, devices])


@settings(max_examples=30)
@given(steps(most=9), st.integers(1, 5))
def test_the_less_is_looked_at_the_less_is_proven(problem, span):
    """Run by Python, which reads nothing beyond the end of an array, unlike compiled code."""
    (whole, plain), modules = both(problem), vars(serialisation_kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serialisation_kernel, "SPAN", span)
        for name in [name for name, one in modules.items() if hasattr(one, "py_func")]:
            patch.setattr(serialisation_kernel, name, modules[name].py_func)
        short, _ = both(problem)
    for least, some, most in zip(plain, short, whole, strict=True):
        assert np.all(least <= some)
        assert np.all(some <= most)


def test_a_gap_is_how_long_a_channel_is_held_and_not_the_way():
    problem = fork_join([40, 30], 15, gap=1e-9)
    assert both(problem)[0][0][3].min() == 10 + 40 + 15
