"""Annealing: its neighbourhoods, and that it finds what there is to find."""

from __future__ import annotations

import numpy as np
import pytest
from six_ops import every_placement, six_ops

from baselines._moves import Moves
from baselines.annealing import Annealing
from suite.errors import BudgetExhausted, InputError
from suite.placer import Search
from suite.simulator.step import Simulator


def test_a_level_cuts_groups_where_their_classes_are_apart() -> None:
    level = Moves(six_ops()).level(np.array([0, 0, 0, 1, 1, 1]), np.array([2, 2, 1, 0, 0, 0]))
    assert level.group_of.tolist() == [1, 1, 0, 2, 2, 2]
    assert level.start.tolist() == [1, 2, 0]
    assert level.start[level.group_of].tolist() == [2, 2, 1, 0, 0, 0]
    # Operation 1 sends to operation 2; the chains do not talk.
    assert [e.tolist() for e in level.borders] == [[1], [0]]


def test_neighbours_change_few_groups_and_joining_heals_a_border() -> None:
    level = Moves(six_ops()).level(np.arange(6), np.array([1, 2, 2, 0, 0, 0]))
    rng = np.random.default_rng(0)
    drawn = level.neighbours(level.start, 200, rng)
    changed = (drawn != level.start).sum(axis=1)
    assert changed.max() <= 4
    assert set(drawn.ravel()) == {0, 1, 2}
    healed = (drawn[:, level.borders[0]] == drawn[:, level.borders[1]]).all(axis=1)
    assert healed.mean() > 0.15


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_optimum_of_six_operations(seed: int) -> None:
    problem = six_ops()
    judge = Simulator(problem)
    search = Search(problem, judge, seed, max_evaluations=400)
    placement = Annealing(coarse=(6,), fine=(6,), restarts=2).place(problem, search)
    optimum = judge(every_placement(problem)).step_time.min()
    assert judge.run(placement.devices).step_time == optimum
    assert search.evaluations <= 400


def test_stays_within_memory_where_the_fastest_does_not() -> None:
    # 2,500 bytes: two of the 1,000-byte variables fit a GPU, three do not.
    problem = six_ops(gpu="3.5 kB")
    search = Search(problem, Simulator(problem), 0, max_evaluations=600)
    placement = Annealing(coarse=(6,), fine=(6,), restarts=2).place(problem, search)
    assert not Simulator(problem).run(placement.devices).oom.any()


def test_the_same_seed_gives_the_same_placement() -> None:
    problem = six_ops()

    def hash_of(seed: int) -> str:
        return (
            Annealing(evaluations=200)
            .place(problem, Search(problem, Simulator(problem), seed))
            .hash
        )

    assert hash_of(3) == hash_of(3)


def test_refuses_nonsense_and_too_small_a_budget() -> None:
    problem = six_ops()
    with pytest.raises(InputError, match="batch is 0"):
        Annealing(batch=0)
    with pytest.raises(BudgetExhausted):
        Annealing().place(problem, Search(problem, Simulator(problem), max_evaluations=3))
