"""Annealing: the chain it reads, the moves it makes, and that it finds what there is to find."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from six_ops import every_placement, six_ops
from unrolled import problem_of

from baselines.annealing import Annealing
from baselines.local_search.critical_chain import Chain, Tracer
from baselines.local_search.moves import Grouping, Moves
from baselines.local_search.settling import Settling
from suite.core.arrays import Ints
from suite.core.cores import Share
from suite.core.errors import BudgetExhausted, InputError
from suite.core.problem import Problem
from suite.core.scores import Scores
from suite.search.placer import Search
from suite.simulator.compiled.judge import Simulator
from suite.simulator.semantics import PRESETS


def chain_of(problem: Problem, devices: Ints) -> Chain:
    tracer = Tracer(problem, Simulator(problem))
    return tracer.chain(tracer.times(devices))


def links(chain: Chain) -> list[tuple[int, int, bool]]:
    rows = zip(chain.earlier, chain.later, chain.crosses, strict=True)
    return [(int(a), int(b), bool(c)) for a, b, c in rows]


def test_the_chain_goes_back_through_what_was_waited_for() -> None:
    problem = six_ops()
    # a0, a1 on the CPU (0.5 s each), a2 on a GPU that is free: the transfer is what counts.
    chain = chain_of(problem, np.array([0, 0, 1, 2, 2, 2], np.int32))
    assert links(chain) == [(1, 2, True), (0, 1, False)]
    assert chain.summed[0] == pytest.approx(0.050001e9 + 1)
    # a2 is there after 0.25 s, but its GPU is busy with the b's until 0.3.
    chain = chain_of(problem, np.array([1, 1, 2, 2, 2, 2], np.int32))
    assert links(chain) == [(5, 2, False), (4, 5, False), (3, 4, False)]


def test_a_chain_under_placetos_rules_goes_through_broadcasts() -> None:
    """There a0's tensor is sent once, to all: a1 waits for it wherever it is."""
    problem = six_ops()
    tracer = Tracer(problem, Simulator(problem, semantics=PRESETS["placeto"]))
    chain = tracer.chain(tracer.times(np.array([0, 1, 2, 2, 2, 2], np.int32)))
    assert links(chain) == [(1, 2, True), (0, 1, True)]
    assert chain.summed.tolist() == [1_001, 2_002]  # 1,000 bytes at 1 GB/s, and 1 ns


def test_on_one_device_all_wait_for_the_one_before() -> None:
    problem = six_ops()
    chain = chain_of(problem, np.ones(6, np.int32))
    # a0 b0 a1 b1 a2 b2, first come, first served.
    assert [link[:2] for link in links(chain)] == [(2, 5), (4, 2), (1, 4), (3, 1), (0, 3)]
    assert not chain.crosses.any()


def test_groups_move_with_their_companions() -> None:
    grouping = Grouping.of(np.array([7, 3, 7, 3, 9, 9]))
    assert grouping.companions(2).tolist() == [0, 2]
    assert grouping.companions(1).tolist() == [1, 3]


def two_groups() -> tuple[Moves, Chain, NDArray[np.int64]]:
    """Moves of two groups of six classes, no chain to guide them, and a placement to change."""
    problem = six_ops()
    grouping = Grouping.of(np.array([0, 0, 0, 1, 1, 1]))
    none = np.zeros(0, np.int64)
    chain = Chain(none, none, none.astype(bool), none.astype(float))
    return Moves(problem, [grouping], Settling(problem)), chain, np.array([1, 1, 2, 0, 0, 0])


def test_moves_change_one_group_to_one_device() -> None:
    moves, chain, current = two_groups()
    nobody, rng = np.zeros((0, 6), np.int64), np.random.default_rng(0)
    drawn = np.concatenate(
        [moves.neighbours(current, 1, 0.5, chain, nobody, set(), rng) for _ in range(200)]
    )
    assert set(drawn.ravel()) == {0, 1, 2}
    once = drawn[((drawn != current).sum(axis=1) <= 3)]
    assert len(once) > 100
    assert (once != current).any(axis=1).mean() > 0.9


def test_no_change_is_tried_twice() -> None:
    moves, chain, current = two_groups()
    known, rng = {moves.name(current)}, np.random.default_rng(0)
    nobody = np.zeros((0, 6), np.int64)
    drawn = [moves.neighbours(current, 2, 0.5, chain, nobody, known, rng) for _ in range(2)]
    rows = {tuple(row) for row in np.concatenate([current[None], *drawn]).tolist()}
    assert len(rows) == len(known) == 5


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_optimum_of_six_operations(seed: int) -> None:
    problem = six_ops()
    judge = Simulator(problem)
    search = Search(problem, judge, seed, max_evaluations=400)
    placement = Annealing().place(problem, search)
    optimum = judge(every_placement(problem)).step_time.min()
    assert judge.run(placement.devices).step_time == optimum
    assert search.evaluations <= 400


def test_stays_within_memory_where_the_fastest_does_not() -> None:
    # Two of the 1,000-byte variables fit a GPU, three do not.
    problem = six_ops(gpu="3.5 kB")
    search = Search(problem, Simulator(problem), 0, max_evaluations=600)
    placement = Annealing().place(problem, search)
    assert not Simulator(problem).run(placement.devices).oom.any()
    assert search.notes["declined"]


def test_the_same_seed_gives_the_same_placement() -> None:
    problem = six_ops()

    def hash_of(seed: int) -> str:
        search = Search(problem, Simulator(problem), seed)
        return Annealing(evaluations=200).place(problem, search).hash

    assert hash_of(3) == hash_of(3)


def test_breaking_off_slow_steps_changes_nothing() -> None:
    problem = six_ops()
    patient = Simulator(problem).batch
    searches = [Search(problem, judge, 5) for judge in (Simulator(problem), lambda d: patient(d))]
    hashes = [Annealing(evaluations=400).place(problem, search).hash for search in searches]
    assert hashes[0] == hashes[1]
    assert searches[0].evaluations == searches[1].evaluations
    steps = [[(n, best) for n, _, best in search.history] for search in searches]
    assert steps[0] == steps[1]


def test_what_its_starts_evaluate_counts() -> None:
    problem, asked = six_ops(), list[int]()
    simulator = Simulator(problem)

    def judge(devices: Ints) -> Scores:
        asked.append(len(devices))
        return simulator(devices)

    search = Search(problem, judge, 0, max_evaluations=400)
    Annealing(starts=("best_of_random", "gpu_only")).place(problem, search)
    assert 100 < search.evaluations == sum(asked) <= 400
    # A start that searches leaves enough for judging the starting points.
    search = Search(problem, judge, 0, max_evaluations=50)
    Annealing(starts=("best_of_random", "best_of_random"), walks=3).place(problem, search)
    assert search.evaluations <= 50
    assert search.notes["declined"]["best_of_random"].startswith("best_of_random needs a budget")


def test_chains_are_traced_under_the_rules_of_the_judge() -> None:
    problem, devices = six_ops(), np.array([0, 0, 1, 2, 2, 2], np.int32)
    traced = {}
    for name, rules in PRESETS.items():
        tracer = Tracer(problem, Simulator(problem, semantics=rules))
        traced[name] = tuple(tracer.chain(tracer.times(devices)).summed)
        assert tracer.traces == 1
    assert len(set(traced.values())) > 1
    search = Search(problem, Simulator(problem), 0, max_evaluations=400)
    Annealing().place(problem, search)
    assert 0 < search.notes["traces"] < search.evaluations


def test_ends_when_its_seconds_are_over() -> None:
    problem = six_ops()
    search = Search(problem, Simulator(problem), 0, max_seconds=4.0)
    Annealing(evaluations=10**9).place(problem, search)
    assert 3.9 < search.elapsed < 12  # its starts alone take a second


def test_seconds_that_are_over_before_anything_was_judged_are_said_to_be_too_few() -> None:
    problem = six_ops()
    with pytest.raises(BudgetExhausted, match="before a placement was judged; give more"):
        Annealing().place(problem, Search(problem, Simulator(problem), max_seconds=0.0))


def test_what_was_judged_before_the_seconds_were_over_is_an_answer() -> None:
    problem = six_ops()
    simulator, judged = Simulator(problem), []

    def slow(devices: Ints) -> Scores:
        """The first starting points take all seconds."""
        scores = simulator(devices)
        judged.extend(scores.step_time.tolist())
        search.max_seconds = 0.0
        return scores

    search = Search(problem, slow, max_seconds=1000.0)
    found = Annealing().place(problem, search)
    assert 0 < search.evaluations < 10
    assert simulator.run(found.devices).step_time == min(judged)


def test_refuses_nonsense_and_too_small_a_budget() -> None:
    problem = six_ops()
    with pytest.raises(InputError, match="batch is 0"):
        Annealing(batch=0)
    with pytest.raises(BudgetExhausted):
        Annealing().place(problem, Search(problem, Simulator(problem), max_evaluations=1))


def test_what_a_search_finds_does_not_depend_on_how_many_cores_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem, found = problem_of(2), []
    for share in (Share(workers=1, threads=2), Share(workers=2, threads=1)):
        monkeypatch.setattr("suite.core.cores._mine", share)
        search = Search(problem, Simulator(problem), 0, max_evaluations=1500)
        placement = Annealing(starts=("gpu_only",)).place(problem, search)
        found.append((placement.hash, [(number, best) for number, _, best in search.history]))
    assert found[0] == found[1]
