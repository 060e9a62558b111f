"""What a window must send around a hub: by hand, and never more than what happens."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import every_placement, problems

from suite.bounds import traffic, traffic_program
from suite.bounds.alike import Alike
from suite.bounds.lower_bound import lower_bound
from suite.bounds.serialisation import serial_release_and_delivery
from suite.bounds.traffic import Place, Traffic, traffic_bound
from suite.bounds.traffic_program import Effort, Prices, Program
from suite.core.graph import OpGraph
from suite.core.problem import Problem
from suite.formats.machine_toml import machine_from_table
from suite.simulator.compiled.judge import Simulator
from suite.simulator.durations import nanoseconds
from suite.simulator.reference import simulate

OPS = 40


def fan(
    gpus=2,
    *,
    long=1,
    work=10,
    latency=100,
    fast=None,
    labels=None,
    in_host=False,
    one_process=False,
    back=None,
    cpu=10**6,
    fork=True,
    join=True,
    lanes=1,
    **link,
):
    """An operation of 1 ns feeds 40 others of ``work`` ns, which feed another of 1 ns.

    Or 40 chains of so many each. The CPU takes ``cpu`` times as long for the 40, and is of no use
    for the others. Transfers take ``latency`` ns, from gpu:0 to gpu:1 ``fast`` ns, from the CPU
    ``back`` ns. The first feeds nothing without ``fork``, and nothing reads the
    40 without ``join``. A GPU runs ``lanes`` operations at once.
    """
    base = {"memory": "1 GB", "peak_flops": 1, "memory_bandwidth": 1, "launch_overhead": 0}
    devices = [{"name": "cpu:0", "kind": "cpu", **base}]
    gpu = {"kind": "gpu", "parallelism": lanes, **base}
    devices += [{"name": f"gpu:{i}", **gpu} for i in range(gpus)]
    every = {"bandwidth": 1e9, "latency": latency * 1e-9, "channel": "copy-engines", **link}
    links = [every]
    if fast is not None:
        links.append({**every, "latency": fast * 1e-9, "from": "gpu:0", "to": "gpu:1"})
    if back is not None:
        links.append({**every, "latency": back * 1e-9, "from": "cpu"})
    table = {"name": "m", "device": devices, "link": links, "one_process": one_process}
    last = OPS * long + 1
    edges = [(0, first) for first in range(1, last, long)] if fork else []
    edges += [(op, op + 1) for op in range(1, last) if op % long]
    edges += [(op, last) for op in range(long, last, long)] if join else []
    graph = OpGraph.create(
        "fan",
        [f"op{i}" for i in range(last + 1)],
        ["Op"] * (last + 1),
        [a for a, _ in edges],
        [(t, b) for t, (_, b) in enumerate(edges)],
        colocation=labels,
        host_memory=in_host,
    )
    times = np.repeat(np.array([1.0, *[work] * (last - 1), 1.0])[:, None], gpus + 1, axis=1)
    times[:, 0] *= np.array([10**6, *[cpu] * (last - 1), 10**6])
    return Problem(graph, machine_from_table(table), times * 1e-9)


@pytest.mark.parametrize(
    ("gpus", "machine", "sent"),
    [
        (2, {}, 100),
        (5, {}, 100),
        (2, {"channel": "shared"}, 100),
        (2, {"channel": "pair"}, 50),  # two channels lead away from each device
        (2, {"gap": 40e-9}, 40),
        (2, {"fast": 60}, 60),
        (2, {"in_host": True}, 100),  # handed on where one process has all devices alone
    ],
)
def test_whoever_is_not_beside_a_hub_is_sent_to_one_after_the_other(gpus, machine, sent):
    """Of the work, 1 + 400 + 1 ns, a share f is elsewhere: (1 - f) of it on the hub's device.

    40 f tensors leave that, and hold its channels for ``sent`` ns each.
    """
    problem = fan(gpus, **machine)
    bound = lower_bound(problem)
    assert bound.kind == "traffic"
    assert bound.seconds == pytest.approx(math.ceil(402 / (1 + 400 / (OPS * sent))) * 1e-9)
    some = np.array([[1, *[2] * away, *[1] * (OPS + 1 - away)] for away in range(8)])
    best = float(Simulator(problem).batch(some).step_time.min())
    assert bound.seconds <= best <= 1.25 * bound.seconds


def test_what_one_process_hands_on_is_not_sent():
    problem = fan(in_host=True, one_process=True)
    assert lower_bound(problem).kind != "traffic"
    devices = np.array([1, *[1, 2] * (OPS // 2), 1])
    assert Simulator(problem).run(devices).nanoseconds < 1.1 * (402 / 2)


@pytest.mark.parametrize("lacking", ["fork", "join"])
def test_a_hub_that_only_sends_or_only_receives_has_one_channel_for_that(lacking):
    """A GPU's copy engine takes in what five other devices send, one tensor after the other."""
    bound = lower_bound(fan(5, **{lacking: False}))
    # The operation that is no hub, of 1 ns, is elsewhere.
    assert (bound.kind, bound.seconds) == ("traffic", pytest.approx(math.ceil(401 / 1.1) * 1e-9))


@pytest.mark.parametrize(("way", "least"), [("send", 6), ("receive", 4)])
def test_channels_out_share_what_leaves_and_channels_in_what_arrives(way, least):
    """One tensor of 12 ns from one device to another: over 2 channels outwards, 3 inwards."""
    one = np.array([0])
    traffic = Traffic(
        classes=np.arange(2),
        work=np.zeros((2, 1)),
        tensor=one,
        maker=one,
        reader=one + 1,
        leaving=np.full((1, 1), 12.0),
        reaching=np.full((1, 1), 12.0),
        lanes=one + 1,
        outlets=one + 2,
        inlets=one + 3,
    )
    free, leaves, arrives = np.zeros(2), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    send, receive = (leaves, free) if way == "send" else (free, arrives)
    prices = Prices(free, send, receive, sent=12 * send[None], got=12 * receive[None])
    places = [Place(0, 1), Place(0, 1)]
    assert traffic.proven(places, {0: 0, 1: 1}, prices) == least


def small(work, edges, held):
    """Classes of ``work`` ns, devices of one kind; edges: tensor of ``held`` ns, maker, reader."""
    tensor, maker, reader = np.array(edges, np.int64).reshape(-1, 3).T
    one, sent = np.ones(1, np.int64), np.full((len(set(tensor.tolist())), 1), float(held))
    numbers = np.arange(len(work))
    times = np.array(work, float)[:, None]
    return Traffic(numbers, times, tensor, maker, reader, sent, sent, one, one, one)


def test_sums_that_are_rounded_up_prove_no_more():
    """Three times a tenth is 0.30000000000000004, which is more than three tenths."""
    free, tenth = np.zeros(1), np.full(1, 0.1)
    prices = Prices(tenth, free, free, sent=np.zeros((0, 1)), got=np.zeros((0, 1)))
    assert small([1, 1, 1], [], 0).proven([Place(0, 1)], {}, prices) == 3


def test_two_hubs_that_are_alike_are_put_apart():
    """Each of two readers reads a tensor of each hub, and so one of 12 ns crosses each way."""
    traffic = small([0] * 4, [(0, 0, 2), (1, 0, 3), (2, 1, 2), (3, 1, 3)], 12)
    places, where = [Place(0, 1), Place(0, 1)], {0: 0, 1: 1}
    prices = Program.of(traffic, [0, 1]).prices(places, where, Effort())
    assert traffic.proven(places, where, prices) == 12


def test_two_hubs_of_one_class_are_one():
    """Whoever is not beside both is sent to by the first and sends to the last."""
    bound = lower_bound(fan(labels=["ends", *[None] * OPS, "ends"]))
    assert bound.kind == "traffic"
    assert bound.seconds == pytest.approx(math.ceil(402 / (1 + 400 / (OPS * 100))) * 1e-9)


def test_programs_share_what_they_may_take():
    """Of what one takes twice, less one step, the second has too little."""
    problem = fan()
    alike, durations, *_ = known_of(problem)
    whole = Traffic.of(problem, durations, alike, np.ones(OPS + 2, np.bool_))
    program, left = Program.of(whole, [0]), Effort()
    *_, (places, where) = traffic._ways([0], np.isfinite(whole.work), alike.sizes)
    assert program.prices(places, where, left) is not None
    taken = Effort().iterations - left.iterations
    short = Effort(2 * taken - 1)
    assert [program.prices(places, where, short) is None for _ in range(2)] == [False, True]


def test_lanes_share_the_work_and_not_the_channels():
    problem = fan(lanes=2)
    bound = lower_bound(problem).seconds
    assert bound == pytest.approx(math.ceil(402 / (2 + 400 / (OPS * 100))) * 1e-9)
    alone = Simulator(problem).run(np.ones(OPS + 2, np.int32)).step_time
    assert bound <= alone == pytest.approx((1 + 400 / 2 + 1) * 1e-9)


def test_what_is_handed_on_takes_no_time_of_a_channel():
    """The nanosecond after which it arrives is as long as each of the operations."""
    problem = fan(5, work=1, in_host=True, one_process=True)
    devices = np.array([1, *[1, 2, 3, 4, 5] * (OPS // 5), 1])
    step = Simulator(problem).run(devices).step_time
    assert lower_bound(problem).seconds <= step < 0.5 * 42e-9


@pytest.mark.parametrize(("away", "back", "busy"), [(100, 5, 100), (5, 100, 5)])
def test_what_is_sent_one_way_only_holds_the_channels_of_that_way(away, back, busy):
    """A GPU feeds 40 operations, of which a share f is on the CPU, which is as fast."""
    problem = fan(1, latency=away, back=back, cpu=1, join=False)
    bound = lower_bound(problem).seconds
    # (1 - f) of the work on the GPU, f on the CPU, 40 f tensors on the way: no longer than T each.
    least = max(402 / (1 + 400 / (OPS * busy)), 402 / 2)
    assert bound == pytest.approx(math.ceil(least) * 1e-9, abs=1.1e-9)
    share = np.arange(1, OPS)[:, None] > np.arange(OPS)
    some = np.concatenate([np.ones((OPS - 1, 1)), 1 - share, np.ones((OPS - 1, 1))], axis=1)
    best = float(Simulator(problem).batch(some.astype(np.int32)).step_time.min())
    assert bound <= best <= 1.25 * bound


def test_what_a_class_reads_outside_the_window_does_not_count():
    """First and last operation are one class; the window begins after the first."""
    problem = fan(long=2, labels=["ends", *[None] * (2 * OPS), "ends"])
    alike, durations, *_ = known_of(problem)
    window = Traffic.of(problem, durations, alike, np.arange(2 * OPS + 2) > 0)
    assert len(window.classes) == 2 * OPS + 1
    assert len(window.tensor) == 2 * OPS


@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        (traffic, "MANY", OPS + 2),
        (traffic, "WAYS", 4),
        (traffic_program, "LARGEST", 1),
        (traffic_program, "_AT_ONCE", 0),
    ],
)
def test_beyond_its_limits_it_says_what_the_others_say(monkeypatch, module, limit, value):
    monkeypatch.setattr(module, limit, value)
    bound = lower_bound(fan())
    assert bound.kind != "traffic"
    assert bound.parts["traffic"] == bound.seconds


@pytest.mark.parametrize("rounds", [0, 1])
def test_what_is_taken_for_alike_too_early_proves_no_more(monkeypatch, rounds):
    problem = fan(long=6)
    whole = lower_bound(problem)
    monkeypatch.setattr(traffic_program, "ROUNDS", rounds)
    assert lower_bound(problem).parts["traffic"] <= whole.parts["traffic"]
    assert whole.kind == "traffic"


def test_where_all_may_be_sent_in_time_it_adds_nothing(monkeypatch):
    solved = []
    solve = Program.prices
    monkeypatch.setattr(
        Program, "prices", lambda *given: solved.append(solve(*given)) or solved[-1]
    )
    bound = lower_bound(fan(latency=1, work=100))
    assert bound.kind != "traffic"
    assert solved[0] is not None


def test_two_hubs_are_together_or_apart():
    problem = fan()
    alike = Alike.of(problem)
    allowed = problem.allowed[:, alike.firsts]
    ways = list(traffic._ways([0, OPS + 1], allowed, alike.sizes))
    at = [tuple(places[where[hub]].kind for hub in (0, OPS + 1)) for places, where in ways]
    together = [where[0] == where[OPS + 1] for _, where in ways]
    assert sorted(zip(at, together, strict=True)) == [
        ((0, 0), True),
        ((0, 1), False),
        ((1, 0), False),
        ((1, 1), False),
        ((1, 1), True),
    ]
    assert all(sum(place.devices for place in places) == 3 for places, _ in ways)


def known_of(problem):
    """Kinds of devices, durations on each, release and delivery times of each operation."""
    alike = Alike.of(problem)
    allowed = problem.allowed[:, alike.firsts][problem.graph.colocation]
    durations = np.where(allowed, nanoseconds(problem.seconds[:, alike.firsts]), 0)
    ends = serial_release_and_delivery(problem, durations, alike)
    if problem.machine.parallel:
        return alike, durations, *np.zeros((2, problem.graph.n_ops), np.int64)
    return alike, durations, *(end.min(axis=1) for end in ends)


@settings(max_examples=200)
@given(problems(max_ops=7, max_gpus=2), st.integers(0, 2**32 - 1))
def test_any_prices_prove_what_no_placement_beats(problem, seed):
    """Of any window: only how much is proven depends on the solver."""
    rng = np.random.default_rng(seed)
    alike, durations, release, delivery = known_of(problem)
    if problem.machine.n_devices == 1:
        return
    first, last = int(rng.choice([0, *release])), int(rng.choice([0, *delivery]))
    inside = (release >= first) & (delivery >= last)
    if not inside.any():
        return
    window = Traffic.of(problem, durations, alike, inside)
    hub = int(rng.integers(len(window.work)))
    where = int(rng.choice(np.flatnonzero(problem.allowed[window.classes[hub]])))
    kind = int(alike.kind[where])
    left = alike.sizes - (np.arange(len(alike.sizes)) == kind)
    places = [Place(kind, 1), *(Place(k, int(n)) for k, n in enumerate(left) if n)]
    shape = len(window.tensor), len(places)
    one = rng.random((3, len(places))) * (rng.random((3, len(places))) < 0.7)
    prices = Prices(*one, *(10 ** rng.uniform(-3, 3, shape) for _ in range(2)))
    proven = first + last + window.proven(places, {hub: 0}, prices)
    op = int(np.argmax(problem.graph.colocation == window.classes[hub]))
    found = [simulate(problem, d) for d in every_placement(problem) if d[op] == where]
    assert proven <= min((step.nanoseconds for step in found), default=math.inf)


@settings(max_examples=150)
@given(
    problems(max_ops=7, min_gpus=1, max_gpus=3),
    st.integers(1, 2),
    st.sampled_from([0.0, 2.0, 1e9]),
    st.sampled_from(["fifo", "priority"]),
)
def test_no_placement_is_faster(problem, hubs, near, policy):
    """With hubs of any size, in windows that may become wider, and nothing known before."""
    alike, durations, release, delivery = known_of(problem)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"MANY": 1, "NEAR": near, "HUBS": hubs}.items():
            patch.setattr(traffic, name, value)
        proven = traffic_bound(problem, durations, release, delivery, alike, 1.0)
    steps = [simulate(problem, d, policy).nanoseconds for d in every_placement(problem)]
    assert proven <= min(steps)
