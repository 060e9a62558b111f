"""What a window must send around a hub: by hand, and never more than what happens."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_placement, problems

from suite.bounds import traffic
from suite.bounds.alike import Alike
from suite.bounds.lower_bound import lower_bound
from suite.bounds.traffic import Place, Traffic
from suite.bounds.traffic_program import Prices
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.durations import nanoseconds
from suite.simulator.reference import simulate


def fan(channel="copy-engines", gpus=2, ops=40, work=10, latency=100, ends=1):
    """A first operation feeds ``ops`` others, which feed a last one: the CPU can do the ends only.

    Times are nanoseconds.
    """
    base = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **base}]
    devices += [{"name": f"gpu:{i}", "kind": "gpu", **base} for i in range(gpus)]
    link = {"bandwidth": 1e9, "latency": latency * 1e-9, "channel": channel}
    machine = machine_from_table({"name": "m", "device": devices, "link": [link]})
    edges = [(0, i) for i in range(1, ops + 1)] + [(i, ops + 1) for i in range(1, ops + 1)]
    graph = OpGraph.create(
        "fan",
        [f"op{i}" for i in range(ops + 2)],
        ["Op"] * (ops + 2),
        [a for a, _ in edges],
        [(t, b) for t, (_, b) in enumerate(edges)],
    )
    times = np.array([ends, *[work] * ops, ends])[:, None] * np.array([[1e6, *[1] * gpus]])
    return Problem(graph, machine, times * 1e-9)


@pytest.mark.parametrize(
    ("channel", "gpus", "channels"),
    [("copy-engines", 2, 1), ("shared", 2, 1), ("pair", 2, 2), ("copy-engines", 5, 1)],
)
def test_whoever_is_not_beside_a_hub_is_sent_to_one_after_the_other(channel, gpus, channels):
    """Of 40 operations a share f is elsewhere: 400 ns x (1 - f) of work, 4,000 ns x f to send."""
    bound = lower_bound(fan(channel, gpus))
    least = (1 + 400 + 1) / (1 + 400 * channels / 4000)
    assert bound.kind == "traffic"
    assert bound.seconds == pytest.approx(math.ceil(least) * 1e-9)
    some = np.array([[1, *[2] * away, *[1] * (41 - away)] for away in range(6)])
    best = float(Simulator(fan(channel, gpus)).batch(some).step_time.min())
    assert bound.seconds <= best <= 1.2 * bound.seconds


def test_two_hubs_may_be_apart():
    """First and last operation on two GPUs: each tensor of the others crosses once."""
    problem = fan(latency=1, work=100)
    alike = Alike.of(problem)
    durations = nanoseconds(problem.seconds[:, alike.firsts])
    whole = Traffic.of(problem, durations, alike, np.ones(42, np.bool_))
    ways = list(traffic._ways([0, 41], np.isfinite(whole.work), alike.sizes))
    at = [tuple(places[where[hub]].kind for hub in (0, 41)) for places, where in ways]
    together = [where[0] == where[41] for _, where in ways]
    # Each on the CPU or on a GPU, and both on GPUs in two ways.
    assert sorted(zip(at, together, strict=True)) == [
        ((0, 0), True),
        ((0, 1), False),
        ((1, 0), False),
        ((1, 1), False),
        ((1, 1), True),
    ]
    assert all(sum(place.devices for place in places) == 3 for places, _ in ways)


def test_where_all_may_be_sent_in_time_it_adds_nothing():
    bound = lower_bound(fan(latency=1, work=100))
    assert bound.parts["traffic"] == bound.seconds
    assert bound.kind != "traffic"


def test_without_a_hub_it_says_what_the_others_say(monkeypatch):
    monkeypatch.setattr(traffic, "MANY", 50)
    bound = lower_bound(fan())
    assert bound.kind != "traffic"
    assert bound.parts["traffic"] == bound.seconds


@settings(max_examples=150, deadline=None)
@given(problems(max_ops=7, max_gpus=2), st.integers(0, 2**32 - 1))
def test_any_prices_prove_what_no_placement_beats(problem, seed):
    """Whatever the solver finds: only the time that it takes depends on it."""
    rng = np.random.default_rng(seed)
    alike = Alike.of(problem)
    durations = np.where(
        problem.allowed[:, alike.firsts][problem.graph.colocation],
        nanoseconds(problem.seconds[:, alike.firsts]),
        0,
    )
    if problem.machine.n_devices == 1:
        return
    whole = Traffic.of(problem, durations, alike, np.ones(problem.graph.n_ops, np.bool_))
    hub = int(rng.integers(len(whole.work)))
    where = int(rng.choice(np.flatnonzero(problem.allowed[hub])))
    kind = int(alike.kind[where])
    left = alike.sizes - (np.arange(len(alike.sizes)) == kind)
    places = [Place(kind, 1), *(Place(k, int(n)) for k, n in enumerate(left) if n)]
    shape = len(whole.tensor), len(places)
    one = rng.random((3, len(places))) * (rng.random((3, len(places))) < 0.7)
    prices = Prices(*one, *(10 ** rng.uniform(-3, 3, shape) for _ in range(2)))
    proven = whole.proven(places, {hub: 0}, prices)
    op = int(np.argmax(problem.graph.colocation == hub))
    found = [simulate(problem, d) for d in every_placement(problem) if d[op] == where]
    assert proven <= min((step.nanoseconds for step in found), default=math.inf)


@settings(max_examples=100, deadline=None)
@given(problems(max_ops=7, max_gpus=3), st.integers(1, 2))
def test_no_placement_is_faster(problem, hubs):
    """With hubs of any size, in windows that may become as wide as they like."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MANY": 1, "NEAR": 1.0, "HUBS": hubs}.items():
            patch.setattr(traffic, name, value)
        bound = lower_bound(problem)
    steps = [simulate(problem, d).step_time for d in every_placement(problem)]
    assert bound.seconds == max(v for k, v in bound.parts.items() if k != "load_memory")
    assert bound.seconds <= min(steps)
