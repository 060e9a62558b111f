"""Learned moves: what a change looks like at first sight, and that what is learned of it helps."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lessons import policy_of, training
from six_ops import every_placement, six_ops
from strategies import placed, random_devices

from baselines.partitioning.class_graph import mean_transfer
from planners.features.moves import FEATURES, SLOTS, Surroundings
from planners.learned_moves import DIGITS, LearnedMoves, Ranking, fitted, squashed
from suite.core.arrays import Floats, Ints
from suite.core.errors import InputError
from suite.core.problem import Problem
from suite.formats.policy_file import PolicyFile
from suite.search.checkpoint import Checkpoint
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator
from suite.simulator.timeline import Timeline, record

SMALL = LearnedMoves(rounds=2, epochs=2, width=4, drawn=8, policy="")


def classes_of(problem: Problem, devices: Ints) -> Ints:
    """Class devices, int64[n_classes], of operation devices."""
    found = np.zeros(problem.graph.n_classes, np.int64)
    found[problem.graph.colocation] = devices
    return found


def slack_of(problem: Problem, times: Timeline) -> list[int]:
    """How much later each operation could end, if the order on devices stays; by recursion."""
    graph, devices, end = problem.graph, times.devices, int(times.end.max())
    arrived = {
        (int(t), int(d)): int(at)
        for t, d, at in zip(times.tensor, times.target, times.arrived, strict=True)
    }
    order = sorted(range(graph.n_ops), key=lambda op: (times.start[op], times.end[op], op))
    next_on = dict[int, int]()
    last = dict[int, int]()
    for op in order:
        if devices[op] in last:
            next_on[last[devices[op]]] = op
        last[devices[op]] = op

    @cache
    def slack(op: int) -> int:
        found = [end - int(times.end[op])]
        if op in next_on:
            found.append(slack(next_on[op]) + int(times.start[next_on[op]] - times.end[op]))
        for tensor, reader in zip(*graph.edges, strict=True):
            if graph.producer[tensor] == op:
                key = int(tensor), int(devices[reader])
                came = arrived.get(key, int(times.end[op]))
                came = came if devices[reader] != devices[op] else int(times.end[op])
                found.append(slack(int(reader)) + int(times.start[reader]) - came)
        return min(found)

    return [slack(op) for op in range(graph.n_ops)]


def overlap(start: float, end: float, slot: int, length: float) -> float:
    """Nanoseconds of a stretch of work that fall into a slot."""
    return max(0.0, min(end, (slot + 1) * length / SLOTS) - max(start, slot * length / SLOTS))


def slow_features(problem: Problem, times: Timeline, then: Ints) -> dict[str, float]:
    """Each feature by its definition, of operation devices ``then``."""
    graph, now = problem.graph, times.devices
    devices, ops = range(problem.machine.n_devices), range(graph.n_ops)
    whole, slack = max(1.0, float(times.result.nanoseconds)), slack_of(problem, times)
    send = 1e9 * mean_transfer(problem, np.arange(problem.machine.n_devices))
    took = [float(times.end[op] - times.start[op]) for op in ops]
    takes = [1e9 * problem.seconds[op, then[op]] for op in ops]
    moved = [op for op in ops if now[op] != then[op]]
    after = [takes[op] if op in moved else took[op] for op in ops]
    load = [sum(took[op] for op in ops if now[op] == d) for d in devices]
    load_then = [sum(after[op] for op in ops if then[op] == d) for d in devices]
    crowd = 0.0
    for d in devices:
        for slot in range(SLOTS):
            here = [op for op in ops if then[op] == d]
            spans = [(times.start[op], times.start[op] + after[op]) for op in here]
            work = sum(overlap(*span, slot, whole) for span in spans)
            crowd += max(0.0, work - whole / SLOTS)
    new, gone, sent = [], [], 0.0
    for tensor, reader in zip(*graph.edges, strict=True):
        maker, cost = graph.producer[tensor], float(send[tensor])
        was, will = now[maker] != now[reader], then[maker] != then[reader]
        sent += cost * was
        spare = float(slack[reader] + times.start[reader] - times.end[maker])
        if will and not was:
            new.append((cost, spare))
        if was and not will:
            gone.append((cost, spare))
    late = [max(0.0, cost - spare) for cost, spare in new]
    waits = 0.0
    for op in moved:
        before = [o for o in ops if now[o] == now[op] and o != op]
        before = [o for o in before if (times.start[o], times.end[o], o) < key(times, op)]
        if slack[op] == 0 and before:
            last = max(before, key=lambda o: key(times, o))
            if times.end[last] == times.start[op] and then[last] != then[op]:
                waits += took[last]
    size = [
        float(graph.persistent_bytes[op] + graph.tensor_bytes[graph.producer == op].sum())
        for op in ops
    ]
    gained = [
        sum(size[op] * (int(then[op] == d) - int(now[op] == d)) for op in moved) for d in devices
    ]
    peak, memory = times.result.peak_memory, problem.machine.memory
    fullest = int(np.argmax(peak / memory))
    values = (
        len(moved) / graph.n_ops,
        np.log(1 + len(moved)),
        sum(takes[op] for op in moved) / whole,
        sum(takes[op] - took[op] for op in moved) / whole,
        max(load) / whole,
        max(load_then) / whole,
        (max(load_then) - max(load)) / whole,
        sum(b**2 - a**2 for a, b in zip(load, load_then, strict=True)) / whole**2,
        crowd / whole,
        sum(cost for cost, _ in new) / whole,
        sum(cost for cost, _ in gone) / whole,
        (sum(cost for cost, _ in new) - sum(cost for cost, _ in gone)) / whole,
        sum(late) / whole,
        max(late, default=0.0) / whole,
        sum(cost for cost, spare in gone if spare <= cost) / whole,
        np.log(1 + len(new)),
        np.log(1 + len(gone)),
        sum(took[op] - takes[op] for op in moved if slack[op] == 0) / whole,
        waits / whole,
        1 / len(devices),
        sent / whole,
        sum(took[op] for op in ops if slack[op] == 0) / whole,
        max(0.0, peak[fullest] / memory[fullest] - 1),
        gained[fullest] / memory[fullest],
        max(0.0, max((peak[d] + gained[d]) / memory[d] - 1 for d in devices)),
    )
    return dict(zip(FEATURES, map(float, values), strict=True))


def key(times: Timeline, op: int) -> tuple[int, int, int]:
    """The order of operations on their devices."""
    return int(times.start[op]), int(times.end[op]), op


@given(placed(min_gpus=1, in_turn=True), st.integers(0, 2**32 - 1))
def test_features_are_what_they_are_called(case: tuple[Problem, Ints], seed: int) -> None:
    problem, devices = case
    rng = np.random.default_rng(seed)
    other = random_devices(problem, rng)
    keep = rng.random(problem.graph.n_classes) < rng.random()
    then = np.where(keep[problem.graph.colocation], devices, other)
    times, surroundings = record(Simulator(problem), devices), Surroundings(problem)
    step = surroundings.step(times, classes_of(problem, devices))
    rows = np.stack([classes_of(problem, then), classes_of(problem, devices)])
    found = surroundings.features(step, rows)
    for row, placement in zip(found, (then, devices), strict=True):
        wanted = slow_features(problem, times, placement)
        assert dict(zip(FEATURES, row, strict=True)) == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_numbers_of_gpus_make_no_difference() -> None:
    problem = six_ops()
    surroundings, swap = Surroundings(problem), np.array([0, 2, 1])

    def seen(now: list[int], then: list[int]) -> Floats:
        times = record(Simulator(problem), np.array(now, np.int32))
        step = surroundings.step(times, np.array(now))
        return surroundings.features(step, np.array([then]))

    now, then = [1, 1, 2, 1, 1, 0], [1, 1, 1, 2, 2, 2]
    np.testing.assert_allclose(
        seen(now, then), seen(swap[now].tolist(), swap[then].tolist()), atol=1e-12
    )


def test_a_ranking_tells_what_it_was_shown() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(3000, len(FEATURES)))
    # One that helps wherever the sixth feature is small.
    gains = np.where(features[:, 5] < -0.5, 0.02, 0.0)
    ranking = fitted(LearnedMoves(policy="", epochs=20), features[:2000], gains[:2000], rng)
    order = np.argsort(-ranking(features[2000:]))
    best = int((gains[2000:] > 0).sum())
    assert (gains[2000:][order[:best]] > 0).mean() > 0.7


def test_squashing_keeps_sign_and_order() -> None:
    values = np.array([-50.0, -0.01, 0.0, 0.01, 2.0])
    assert squashed(values).tolist() == pytest.approx(
        [-np.log1p(5000), -np.log(2), 0, np.log(2), np.log1p(200)]
    )


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_rank_of_a_change_is_the_same_in_any_company_and_order_of_sums(
    seed: int, many: int
) -> None:
    """As exact sums have it: no processor's order of adding up products shows."""
    rng = np.random.default_rng(seed)
    shapes = [(len(FEATURES), 8), (8,), (8, 8), (8,), (8, 1), (1,)]
    ranking = Ranking([rng.normal(size=shape).astype(np.float32) for shape in shapes])
    features = rng.normal(size=(many, len(FEATURES)))
    found = ranking(features)
    alone = [float(ranking(row[None])[0]) for row in features]
    assert found.tolist() == alone
    exact = []
    for row in features:
        x = [math.copysign(math.log1p(100 * abs(value)), value) for value in row]
        for i in (0, 2, 4):
            weights, biases = ranking.weights[i], ranking.weights[i + 1]
            sums = [
                [float(w) * value for w, value in zip(column, x, strict=True)]
                for column in weights.T
            ]
            x = [math.fsum([*parts, float(bias)]) for parts, bias in zip(sums, biases, strict=True)]
            x = [max(0.0, value) for value in x] if i < 4 else x
        exact.append(round(x[0], DIGITS))
    assert found.tolist() == pytest.approx(exact, abs=1.1 * 10**-DIGITS)
    assert np.mean(found == exact) > 0.9


def policy(path: Path) -> Path:
    """A policy trained on six operations without a CPU."""
    policy_of(SMALL, "learned_moves", training([six_ops(cpu=None)], evaluations=200)).save(path)
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return policy(tmp_path_factory.mktemp("policies") / "moves.npz")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shipped", [True, False])
def test_finds_the_optimum_of_six_operations(seed: int, shipped: bool, file: Path) -> None:
    problem = six_ops()
    judge = Simulator(problem)
    search = Search(problem, judge, seed, max_evaluations=200)
    planner = LearnedMoves() if shipped else LearnedMoves(policy=str(file))
    placement = planner.place(problem, search)
    optimum = judge(every_placement(problem)).step_time.min()
    assert judge.run(placement.devices).step_time == optimum
    assert search.evaluations <= 200


def test_a_killed_training_goes_on_to_the_same_policy(tmp_path: Path, file: Path) -> None:
    problems, saved = [six_ops(cpu=None)], tmp_path / "c.npz"
    with pytest.raises(KeyboardInterrupt):
        SMALL.train(training(problems, Checkpoint(saved, "mine", 0), 150, evaluations=200))
    again = training(problems, Checkpoint(saved, "mine", 0), evaluations=200)
    assert again.taken_up
    found, whole = policy_of(SMALL, "learned_moves", again), PolicyFile.load(file)
    assert found.digest == whole.digest
    assert 100 < found.lessons[0].evaluations <= 200


def test_the_same_seed_gives_the_same_placement(file: Path) -> None:
    problem = six_ops()
    found = [
        LearnedMoves(evaluations=60, policy=str(file)).place(problem, Search(problem, judge, 4))
        for judge in (Simulator(problem), Simulator(problem))
    ]
    assert found[0].hash == found[1].hash


def test_what_was_tried_is_not_tried_again(file: Path) -> None:
    problem = six_ops()
    planner = LearnedMoves(starts=(), layouts=0, patience=10**9, policy=str(file))
    search = Search(problem, Simulator(problem), 0, max_evaluations=60)
    walks = planner.walks_of(problem, search)
    [start, *_], nobody = walks.starts(), np.zeros((0, 6), np.int64)
    walk = walks.walk(*start, nobody, 0.0, search.rng)
    tried = [walk.propose()[0].tobytes() for _ in range(15)]
    assert len({walk.current.tobytes(), *tried}) == 16


def test_refuses_other_policies_and_nonsense(tmp_path: Path, file: Path) -> None:
    problem = six_ops()

    def place(planner: LearnedMoves) -> None:
        planner.place(problem, Search(problem, Simulator(problem), max_evaluations=50))

    other = tmp_path / "other.npz"
    made = PolicyFile.load(file)
    replace(made, planner="gdp").save(other)
    with pytest.raises(InputError, match="is one of gdp, not of learned_moves"):
        place(LearnedMoves(policy=str(other)))
    weights = {**made.weights, "0": made.weights["0"][1:]}
    replace(made, weights=weights).save(other)
    with pytest.raises(InputError, match="has other weights; train it again"):
        place(LearnedMoves(policy=str(other)))
    with pytest.raises(InputError, match=r"nowhere\.npz"):
        place(LearnedMoves(policy=str(tmp_path / "nowhere.npz")))
    with pytest.raises(InputError, match="drawn"):
        LearnedMoves(drawn=0)
